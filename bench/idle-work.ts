/** Computes at the priority of a shadow's worker, to no end, for the share of the time that it is told. */
import { constants, setPriority } from 'node:os';

/** Milliseconds: as often as a shadow's worker gets something to do. */
const EVERY = 250;

let share = 0;
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
process.on('message', (order: { readonly share: number }) => {
  share = order.share;
  process.send?.({});
});
setInterval(() => {
  const begun = process.cpuUsage();
  const taken = () => {
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1_000;
  };
  while (taken() < share * EVERY);
}, EVERY);
process.on('disconnect', () => process.exit(0));
process.send?.({ port: 0 });
