/** Runs comparison (b) over the file that is its first argument, with the sample counters. */
import { createNaiveApp } from './naive-app.js';
import { sampleCounters, sampleKeyName } from './sample-keys.js';
import { announcePort, changeSteadily, endWithParent } from './server-side.js';

const [, , path = ''] = process.argv;
const { app, users } = await createNaiveApp(path);
const names = Array.from(users, (_, index) => sampleKeyName(index));

function setCounters(index: number, round: number): void {
  const user = users.get(names[index] ?? '');
  const { bytesUp, bytesDown, connections } = sampleCounters(index, round);
  if (user !== undefined) user.counters = { bytes_up: bytesUp, bytes_down: bytesDown, connections };
}

for (let index = 0; index < names.length; index += 1) setCounters(index, 0);
const change = changeSteadily(names.length, setCounters);
process.on('message', ({ changesPerSecond }: { changesPerSecond: number }) => {
  change(changesPerSecond);
  process.send?.({});
});
await app.listen({ host: '127.0.0.1', port: 0 });
endWithParent(() => app.close());
announcePort(app.server);
