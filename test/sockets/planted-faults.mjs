// Preloaded into a real Keyway by test/sockets/last-resort.test.ts: throws where no part of Keyway does.
import { Server } from 'node:http';

const throwing = (words) => () => {
  throw new Error(words);
};

const { emit } = Server.prototype;

Server.prototype.emit = function (name, ...values) {
  const fault = name === 'request' ? values[0].headers['x-fault'] : undefined;
  if (fault === 'event') throw new Error('planted in an event');
  if (fault === 'body') values[0].on('data', throwing('planted in a body'));
  // Each time that it is routed.
  if (fault === 'routing') Object.defineProperty(values[0], 'url', { get: throwing('planted in the routing') });
  if (fault === 'timer') setTimeout(() => Promise.reject(new Error('planted in a timer')));
  const result = emit.call(this, name, ...values);
  if (fault === 'after') throw new Error('planted behind a change');
  return result;
};
