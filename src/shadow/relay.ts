import { Worker } from 'node:worker_threads';
import { matchRequest } from '../replay/format/effects.js';
import { type ProxyOptions, type RecordingProxy, startProxy } from '../replay/record/proxy.js';
import type { FromWorker, ToWorker, WorkerSettings } from './messages.js';
import { Outbox } from './outbox.js';
import { programOf, type ShadowReport } from './tally.js';
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

/**
 * Stands between clients and the target like a recorder, and gives a worker a copy of what passes. Clients never wait for it:
 * what it cannot take is dropped and counted. Rejects when it cannot listen.
 */
export class Relay {
  readonly #proxy: RecordingProxy;
  readonly #outbox: Outbox;
  readonly #worker: Worker;
  readonly #ended: Promise<ShadowReport | null>;

  private constructor(proxy: RecordingProxy, outbox: Outbox, worker: Worker, ended: Promise<ShadowReport | null>) {
    this.#proxy = proxy;
    this.#outbox = outbox;
    this.#worker = worker;
    this.#ended = ended;
  }

  static async start(options: RelayOptions): Promise<Relay> {
    const backlog = new Backlog();
    const writes = new WritesBeside();
    const waiting: ToWorker[] = [];
    const started: { worker?: Worker } = {};
    const tell = (message: ToWorker, transferred: readonly ArrayBuffer[] = []) => {
      if (started.worker === undefined) waiting.push(message);
      else started.worker.postMessage(message, transferred);
    };
    const outbox = new Outbox(tell);
    const begun = new Map<number, number>();
    const proxy = await startProxy({
      origin: options.worker.target.origin,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
      listen: options.listen,
      watch(request) {
        const { sequence, client, method, path } = request;
        writes.begin(request);
        begun.set(sequence, machineTime());
        return backlog.watch((why) => {
          begun.delete(sequence);
          writes.end(sequence, null);
          const operation = matchRequest({ method, path, root: 'server' })?.operation.name ?? 'unmatched';
          outbox.drop({ client: programOf(client.slice(client.indexOf(' ') + 1)), operation, why });
        });
      },
      onExchange(exchange) {
        const startedAt = begun.get(exchange.sequence) ?? machineTime();
        begun.delete(exchange.sequence);
        backlog.add();
        outbox.add({ ...exchange, startedAt, beside: writes.end(exchange.sequence, exchange) });
      },
      onFailure: (reason) => tell({ kind: 'note', sentence: reason }),
    });
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: options.worker });
    const ended = new Promise<ShadowReport | null>((resolve) => {
      worker.on('message', (message: FromWorker) => {
        if (message.kind === 'done') backlog.done(message);
        if (message.kind === 'report') options.onReport(message.report);
        if (message.kind === 'refused') options.onRefused(message.why, message.details);
        if (message.kind === 'ended') resolve(message.report);
      });
      worker.on('error', (error) => options.onLost(error.message));
      worker.on('exit', () => resolve(null));
    });
    for (const message of waiting.splice(0)) worker.postMessage(message);
    started.worker = worker;
    return new Relay(proxy, outbox, worker, ended);
  }

  get url(): string {
    return this.#proxy.url;
  }

  /** Lets requests under way come to their end; resolves to the last report, null where there is none, within so many milliseconds. */
  async end(milliseconds: number): Promise<ShadowReport | null> {
    const late = () => new Promise<null>((resolve) => setTimeout(resolve, milliseconds, null).unref());
    // An answer that never ends is not waited for.
    await Promise.race([this.#proxy.close(), late()]);
    this.#outbox.flush();
    const message: ToWorker = { kind: 'end' };
    this.#worker.postMessage(message);
    const report = await Promise.race([this.#ended, late()]);
    await this.#worker.terminate();
    return report;
  }
}
