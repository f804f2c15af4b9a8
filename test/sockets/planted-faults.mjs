// Preloaded into a real Keyway by test/sockets/last-resort.long.test.ts: throws where no part of Keyway does.
import { Server } from 'node:http';

const throwing = (words) => () => {
  throw new Error(words);
};

/** Behind the listeners of the event that hands over a whole body, which begin a change. */
function throwBehindEnd(request) {
  const tell = request.emit;
  request.emit = (name, ...values) => {
    const result = tell.call(request, name, ...values);
    if (name === 'end') throw new Error('planted behind a change');
    return result;
  };
}

const { emit } = Server.prototype;

Server.prototype.emit = function (name, ...values) {
  const fault = name === 'request' ? values[0].headers['x-fault'] : undefined;
  if (fault === 'event') throw new Error('planted in an event');
  if (fault === 'body') values[0].on('data', throwing('planted in a body'));
  // Each time that it is routed.
  if (fault === 'routing') Object.defineProperty(values[0], 'url', { get: throwing('planted in the routing') });
  if (fault === 'timer') setTimeout(() => Promise.reject(new Error('planted in a timer')));
  if (fault === 'after') throwBehindEnd(values[0]);
  return emit.call(this, name, ...values);
};
