// Preloaded into a real Keyway by test/sockets/last-resort.test.ts: throws where no part of Keyway does.
import { Server } from 'node:http';

const { emit } = Server.prototype;

Server.prototype.emit = function (name, ...values) {
  const fault = name === 'request' ? values[0].headers['x-fault'] : undefined;
  if (fault === 'event') throw new Error('planted in an event');
  if (fault === 'timer') setTimeout(() => Promise.reject(new Error('planted in a timer')));
  const result = emit.call(this, name, ...values);
  if (fault === 'after') throw new Error('planted behind a change');
  return result;
};
