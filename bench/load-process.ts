import { LOAD_CORE, startChild } from './child.js';
import type { LoadOrder, LoadResult } from './load.js';
import { processorSeconds } from './process-figures.js';
import type { BenchServer } from './servers.js';

/** The load client's process, from the bench's side. */
export interface LoadProcess {
  /** Rejects when a connection breaks, and when an answer is none of 2xx: such a round measures nothing. */
  put(server: BenchServer, order: Omit<LoadOrder, 'port'>): Promise<LoadRound>;
  stop(): Promise<void>;
}

export interface LoadRound extends LoadResult {
  /** Answers per second. */
  readonly rate: number;
  /** Share of its core that the server used; below about 0.9 it was not the server that was measured. */
  readonly busy: number;
}

/** Starts a load client on the load's core. */
export async function startLoad(): Promise<LoadProcess> {
  const child = startChild(new URL('./load-client.js', import.meta.url), [], LOAD_CORE);
  await child.hear();
  return {
    async put({ port, child: { pid } }, order) {
      const before = processorSeconds(pid);
      const message = (await child.ask({ ...order, port })) as { result?: LoadResult; problem?: string }; // load-client.ts
      const { result, problem } = message;
      if (result === undefined) throw new Error(problem);
      if (result.refused > 0) throw new Error(`${result.refused} of ${result.answers} answers were refusals`);
      const busy = ((processorSeconds(pid) - before) * 1000) / result.elapsed;
      return { ...result, busy, rate: (result.answers * 1000) / result.elapsed };
    },
    stop: child.stop,
  };
}
