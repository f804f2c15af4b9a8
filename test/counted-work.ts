import { Session } from 'node:inspector/promises';

/** Counts how often blocks of the gateway's code are run: the same on every machine, however fast it is. What Node does within is not counted. */
export async function countedWork(): Promise<{
  of(work: () => Promise<unknown>): Promise<number>;
  end(): Promise<void>;
}> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

  /** The blocks that have run since the last time. */
  async function take(): Promise<number> {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ours = result.filter(({ url }) => url.includes('/src/'));
    const ranges = ours.flatMap(({ functions }) => functions.flatMap((each) => each.ranges));
    return ranges.reduce((sum, { count }) => sum + count, 0);
  }

  return {
    async of(work) {
      await take();
      await work();
      return take();
    },
    async end() {
      await session.post('Profiler.stopPreciseCoverage');
      session.disconnect();
    },
  };
}
