import { setTimeout as sleep } from 'node:timers/promises';
import { type Measure, timeText } from './measure.js';
import { processorSeconds, residentBytes } from './process-figures.js';
import { createUser, getStatus, getUsers, listUsers } from './requests.js';
import { startCommand } from './servers.js';
import { median } from './statistics.js';

const MB = 1e6;
const START_BAR_MS = 2000;
const START_RESIDENT_BAR = 200 * 2 ** 20;

export const startWithManyKeys: Measure = {
  name: 'start-100k',
  async run(bench) {
    const path = await bench.file(100_000);
    const times: number[] = [];
    const resident: number[] = [];
    for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) {
      const server = await bench.using(startCommand(path));
      times.push(server.firstAnswer);
      resident.push(residentBytes(server.child.pid, 'highest'));
      await server.child.stop();
    }
    const [time, memory] = [median(times), median(resident)];
    const [gateway, against] = ['keyway serve', ''];
    return [
      {
        measure: 'start with 100k keys in the file to first answer',
        gateway,
        against,
        value: timeText(time),
        bar: '≤ 2 s',
        met: time <= START_BAR_MS,
      },
      {
        measure: 'the same: resident at its highest',
        gateway,
        against,
        value: `${(memory / 2 ** 20).toFixed(0)} MiB`,
        bar: '≤ 200 MiB',
        met: memory <= START_RESIDENT_BAR,
      },
    ];
  },
};

const IDLE_MS = 20_000;
const RESIDENT_BAR = 100 * MB;
const IDLE_BAR = 0.01;

export const smallServer: Measure = {
  name: 'small',
  async run(bench) {
    const server = await bench.using(startCommand(await bench.file(1000)));
    const { pid } = server.child;
    const fresh = residentBytes(pid, 'now');
    const use = (requests: readonly string[]) =>
      bench.load.put(server, { connections: 4, requests, until: { each: 50 } });
    for (const requests of [getStatus, getUsers(1000), listUsers]) await use(requests);
    const memory = Math.max(fresh, residentBytes(pid, 'now'));
    // As after some use: what an idle server goes on with.
    await use(createUser);
    await sleep(2000);
    const [before, began] = [processorSeconds(pid), performance.now()];
    await sleep(bench.quick ? IDLE_MS / 4 : IDLE_MS);
    const idle = (processorSeconds(pid) - before) / ((performance.now() - began) / 1000);
    return [
      {
        measure: 'with 1,000 keys: resident after 600 reads and lists',
        gateway: 'keyway serve',
        against: `${(fresh / MB).toFixed(0)} MB just started`,
        value: `${(memory / MB).toFixed(0)} MB`,
        bar: '≤ 100 MB',
        met: memory <= RESIDENT_BAR,
      },
      {
        measure: 'with 1,000 keys: processor while idle',
        gateway: 'keyway serve',
        against: '',
        value: `${(idle * 100).toFixed(2)} %`,
        bar: '≤ 1 % of a core',
        met: idle <= IDLE_BAR,
      },
    ];
  },
};
