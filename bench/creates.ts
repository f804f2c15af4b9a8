import { inTurns, type Measure, medianRatio, timeText } from './measure.js';
import { createUser } from './requests.js';
import { type BenchServer, startCommand, startNaive } from './servers.js';
import { median } from './statistics.js';

const KEYS = 100_000;

/** So many creates at once, each on a connection of its own, until all are answered. */
function createMeasure(name: string, measure: string, connections: number, bar: number, rounds: number): Measure {
  return {
    name,
    async run(bench) {
      const gateway = await bench.using(startCommand(await bench.file(KEYS)));
      const naive = await bench.using(startNaive(await bench.file(KEYS)));
      const turn = (server: BenchServer, count: number) => () =>
        bench.load.put(server, { connections: count, requests: createUser, until: { each: 1 } });
      // The first write after a start keeps a version of the file.
      for (let i = 0; i < 3; i += 1) await inTurns(1, turn(gateway, Math.min(connections, 4)), turn(naive, 1));
      const pairs = await inTurns(bench.quick ? 1 : rounds, turn(gateway, connections), turn(naive, connections));
      const ratio = medianRatio(pairs, (ours, theirs) => theirs.elapsed / ours.elapsed);
      const elapsed = (side: 'gateway' | 'against') => timeText(median(pairs[side].map((round) => round.elapsed)));
      return [
        {
          measure,
          gateway: elapsed('gateway'),
          against: elapsed('against'),
          value: `${ratio.toFixed(1)} ×`,
          bar: `≥ ${bar} ×`,
          met: ratio >= bar,
        },
      ];
    },
  };
}

export const creates: readonly Measure[] = [
  createMeasure('create-64', '64 concurrent POST /users at 100k keys against (b), durable', 64, 60, 3),
  createMeasure('create-1', 'one POST /users alone at 100k keys against (b), durable', 1, 5, 15),
];
