import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { type ProxyOptions, type RecordingProxy, startProxy } from '../replay/record/proxy.js';
import { Account } from './account.js';
import type { FromWorker, ToWorker, WorkerSettings } from './messages.js';
import { Outbox } from './outbox.js';
import { type ShadowReport, Tally } from './tally.js';
import { Backlog, machineTime, WritesBeside } from './traffic.js';

export interface RelayOptions {
  readonly worker: WorkerSettings;
  readonly listen: ProxyOptions['listen'];
  readonly ca?: Buffer;
  /** Told about twice a second. */
  readonly onReport: (report: ShadowReport) => void;
  /** The comparison has ended by a fault of its own; clients are served on. */
  readonly onLost: (why: string) => void;
  /** The shadow is not to be used as it was asked for; nothing is compared any more. */
  readonly onRefused: (why: string, details: readonly string[]) => void;
}

const MIB = 1024 * 1024;
/**
 * Memory for the worker's short-lived objects, and for others. By default it takes 48 MB for the first, in which it collects no
 * faster; and from 2 GiB on V8 lets four times what is in use pile up before it collects, instead of twice. On a small machine
 * V8 takes less of itself.
 */
const MEMORY = {
  maxYoungGenerationSizeMb: 12,
  maxOldGenerationSizeMb: Math.min(2_000, Math.floor(getHeapStatistics().heap_size_limit / MIB)),
};

/**
 * Stands between clients and the target like a recorder, and gives a worker a copy of what passes. Clients never wait for it:
 * what it cannot take is dropped and counted. Rejects when it cannot listen.
 */
export class Relay {
  readonly #proxy: RecordingProxy;
  readonly #outbox: Outbox;
  readonly #worker: Worker;
  readonly #account: Account;
  readonly #ended: Promise<void>;

  private constructor(proxy: RecordingProxy, outbox: Outbox, worker: Worker, account: Account, ended: Promise<void>) {
    this.#proxy = proxy;
    this.#outbox = outbox;
    this.#worker = worker;
    this.#account = account;
    this.#ended = ended;
  }

  static async start(options: RelayOptions): Promise<Relay> {
    const backlog = new Backlog();
    const writes = new WritesBeside();
    const account = new Account(new Tally(() => Date.now()).report());
    const waiting: ToWorker[] = [];
    const started: { worker?: Worker } = {};
    const tell = (message: ToWorker, transferred: readonly ArrayBuffer[] = []) => {
      if (started.worker === undefined) waiting.push(message);
      else started.worker.postMessage(message, transferred);
    };
    const outbox = new Outbox(tell);
    const proxy = await startProxy({
      origin: options.worker.target.origin,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      listen: options.listen,
      watch(request) {
        const { sequence } = request;
        const startedAt = machineTime();
        outbox.soon(() => {
          account.begun(request);
          writes.begin(request);
        });
        return backlog.watch({
          passed: (exchange) =>
            outbox.soon(() => {
              account.handed(request);
              outbox.add({ ...exchange, startedAt, beside: writes.end(sequence, exchange) });
            }),
          dropped(why) {
            const endedAt = machineTime();
            outbox.soon(() => {
              writes.end(sequence, null);
              const lost = account.dropped(request, why);
              if (lost !== null) outbox.lose(lost, endedAt);
            });
          },
        });
      },
      onFailure: (reason) => tell({ kind: 'note', sentence: reason }),
    });
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: options.worker,
      resourceLimits: MEMORY,
    });
    const ended = new Promise<void>((resolve) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'done') backlog.done(message.requests);
        if (message.kind === 'refused') options.onRefused(message.why, message.details);
        if (message.kind !== 'report' && message.kind !== 'ended') return;
        account.reported(message.report, message.taken);
        options.onReport(account.report());
        if (message.kind === 'ended') resolve();
      });
      worker.on('error', ({ message }) => {
        backlog.close();
        account.lose(message);
        options.onReport(account.report());
        options.onLost(message);
      });
      worker.on('exit', () => resolve());
    });
    for (const message of waiting.splice(0)) worker.postMessage(message);
    started.worker = worker;
    return new Relay(proxy, outbox, worker, account, ended);
  }

  get url(): string {
    return this.#proxy.url;
  }

  /**
   * Lets requests under way come to their end, and the worker; resolves to the last report, in which each request counts,
   * whether or not they do within so many milliseconds.
   */
  async end({ clients, worker }: Readonly<Record<'clients' | 'worker', number>>): Promise<ShadowReport> {
    const late = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds).unref());
    // An answer that never ends is not waited for.
    await Promise.race([this.#proxy.close(), late(clients)]);
    this.#outbox.flush();
    const message: ToWorker = { kind: 'end' };
    this.#worker.postMessage(message);
    await Promise.race([this.#ended, late(worker)]);
    // What it waits for in a folder that hangs holds up its end.
    await Promise.race([this.#worker.terminate(), late(clients)]);
    // Requests that came since count, too.
    this.#outbox.flush();
    return this.#account.last();
  }
}
