/** The load client: a process of its own that puts the load it is told to on a server and says what came of it. */
import { type LoadOrder, putLoad } from './load.js';

process.on('message', (order: LoadOrder) => {
  putLoad(order).then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ problem: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: true });
