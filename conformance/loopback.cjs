// The suite's own servers listen on every interface. Loaded before the suite, this makes 127.0.0.1 the default.
'use strict';
const net = require('net');
const dns = require('dns');

const address = '127.0.0.1';
const lookup = dns.lookup;

// The suite asks for the port right after listen(), so the lookup of a literal address must answer at once.
dns.lookup = function (host, options, callback) {
  const done = callback ?? options;
  if (host !== address) return lookup.apply(this, arguments);
  return options?.all ? done(null, [{ address, family: 4 }]) : done(null, address, 4);
};

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  if (/^\d+$/.test(port) && typeof rest[0] !== 'string') return listen.call(this, port, address, ...rest);
  return listen.call(this, port, ...rest);
};
