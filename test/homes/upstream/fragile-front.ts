import type { LogPort } from '../../../src/core/ports.js';
import { openUpstreamBackend, type UpstreamBackend } from '../../../src/homes/upstream/backend.js';
import type { TimersPort } from '../../../src/homes/upstream/timers.js';
import { createMemoryFiles } from '../../../src/platform/memory-files.js';
import { systemRandom } from '../../../src/platform/system-ports.js';
import { createFakeServer, type Trip } from '../../client/fake-server.js';
import type { FragileHome } from '../told.js';
import { line } from './staged.js';
import { createWorld } from './world.js';

const FOLDER = '/var/keyway';
/** Calls that change something. */
const WRITES = /create|update|delete|limit|put/;
const log: LogPort = { debug() {}, info() {}, warn() {}, error() {} };

/** A process: what it asks of others is not answered any more once it was killed. */
class Life {
  readonly end: Promise<'killed'>;
  isOver = false;
  /** What it may still ask for. */
  left = Number.POSITIVE_INFINITY;
  #kill: () => void = () => undefined;

  constructor() {
    this.end = new Promise((resolve) => {
      this.#kill = () => resolve('killed');
    });
  }

  kill(): void {
    this.isOver = true;
    this.#kill();
  }

  /** The port as this process has it: each of its promises counts as a thing that it does. */
  of<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]): unknown => {
          if (this.isOver) return new Promise(() => undefined);
          const answer: unknown = Reflect.apply(
            member,
            target,
            given.map((each) => this.#unlessOver(each)),
          );
          return answer instanceof Promise ? this.#attended(answer) : answer;
        };
      },
    });
  }

  timers({ after, wait, pause }: TimersPort): TimersPort {
    const { wait: waits, pause: pauses } = this.of({ wait, pause });
    return {
      after: (milliseconds, run) => after(milliseconds, () => this.isOver || run()),
      wait: waits,
      pause: pauses,
    };
  }

  /** What is called back, nothing once it is over. */
  #unlessOver(value: unknown): unknown {
    if (typeof value !== 'function') return value;
    return (...given: unknown[]): unknown => (this.isOver ? undefined : Reflect.apply(value, undefined, given));
  }

  #attended(answer: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const answered = (settle: () => void) => {
        if (this.left-- <= 0) this.kill();
        if (!this.isOver) settle();
      };
      answer.then(
        (value) => answered(() => resolve(value)),
        (error: unknown) => answered(() => reject(error)),
      );
    });
  }
}

/** A running server that loses calls, answers and writes, and is away. */
export async function fragileFront(revision: string): Promise<FragileHome> {
  const world = createWorld();
  const files = createMemoryFiles();
  const lostWrites: ('before' | 'after')[] = [];
  const lostReads: ('before' | 'after')[] = [];
  const trip = (call: string): Trip => {
    const fault = (WRITES.test(call) ? lostWrites : lostReads).shift();
    // As slow as one that loses writes.
    return { there: 30, back: 30, ...(fault === undefined ? {} : { lost: fault }) };
  };
  const { clock } = world;
  const server = createFakeServer({ revision: line(revision), monotonic: clock.monotonic, sleep: world.sleep, trip });
  let life = new Life();

  async function open(): Promise<UpstreamBackend> {
    life = new Life();
    // What a killed process had locked is free.
    await files.remove(`${FOLDER}/lock`).catch(() => undefined);
    const ports = { fileSystem: life.of(files), clock, timers: life.timers(world.timers), random: systemRandom, log };
    return world.until(openUpstreamBackend({ ...ports, server: life.of(server), dataFolder: FOLDER }));
  }

  const heal = () => {
    lostWrites.length = 0;
    lostReads.length = 0;
    server.becomes('there');
  };
  let backend = await open();
  return {
    backend: () => backend,
    goesWrong(which) {
      const key = ['a', 'b', 'c'][which % 3] ?? 'a';
      if (which % 5 === 0) server.becomes('away');
      else if (which % 5 === 1) server.failsToSave = true;
      else if (which % 5 === 2 && server.mayLose(key)) server.lose(key);
      else (which % 7 === 0 ? lostReads : lostWrites).push(which % 2 === 0 ? 'before' : 'after');
    },
    heal,
    async kill() {
      life.kill();
      backend = await open();
    },
    async killWithin(step, work) {
      // Nothing is asked in the instant in which something else was answered.
      await world.pass(1);
      life.left = step ?? Number.POSITIVE_INFINITY;
      const done = work().then(() => 'done' as const);
      const outcome = await world.until(Promise.race([done, life.end]));
      life.left = Number.POSITIVE_INFINITY;
      return outcome;
    },
    async kept() {
      // Until the last write is settled, whatever was lost on the way.
      for (let i = 0; i < 20; i += 1) await world.pass(10_000);
      return [...server.keys.values()].map(({ record }) => record);
    },
    leave: () => world.until(backend.close()),
  };
}
