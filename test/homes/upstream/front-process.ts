import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { compileForProcess } from '../../compiled.js';
import type { Envelope } from '../../stand-in/files.js';

/** A Keyway in front of a server, in a process of its own, so that it can be killed. */
export interface FrontProcess {
  readonly child: ChildProcess;
  /** What it logged, a line each. */
  readonly log: readonly { readonly message: string; readonly count?: number }[];
  /** What it answers; null where there is no answer. */
  call(method: string, path: string, body?: object): Promise<Envelope | null>;
  /** The same of its own interface. */
  own(method: string, path: string, body?: object): Promise<Envelope | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface FrontSettings {
  /** What `compileFront` gave. */
  readonly script: string;
  /** Its data folder is in there. */
  readonly folder: string;
  /** Of the server. */
  readonly url: string;
  /** How many times faster its time goes. */
  readonly factor: number;
  /** How many times longer than measured a write is taken to have been. */
  readonly callFactor: number;
}

export const compileFront = (folder: string): Promise<string> =>
  compileForProcess('test/homes/upstream/front.ts', folder);

/** Starts one; rejects with what it complained of when it does not start. */
export async function startFrontProcess({
  script,
  folder,
  url,
  factor,
  callFactor,
}: FrontSettings): Promise<FrontProcess> {
  const argv = [script, url, join(folder, 'front.keyway'), String(factor), String(callFactor)];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaints = '';
  const log: { readonly message: string; readonly count?: number }[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    complaints += `${line}\n`;
    if (line.startsWith('{')) log.push(JSON.parse(line));
  });
  const closed = once(child, 'close');
  const first = once(createInterface({ input: child.stdout }), 'line').then(([text]) => String(text));
  const origin = await Promise.race([first, closed.then(() => null)]);
  if (origin === null)
    throw new Error(`the front did not start, and ended with ${child.exitCode ?? child.signalCode}: ${complaints}`);
  const agent = new Agent({ keepAlive: true });
  return {
    child,
    log,
    call: (method, path, body) => call({ root: `${origin}/panel/api`, agent }, method, path, body),
    own: (method, path, body) => call({ root: `${origin}/panel/keyway/v1`, agent }, method, path, body),
    async kill() {
      child.kill('SIGKILL');
      await closed;
      agent.destroy();
    },
  };
}

interface Peer {
  readonly root: string;
  readonly agent: Agent;
}

const NOT_REACHED: Envelope = { ok: false, error: 'not reached' };

async function call({ root, agent }: Peer, method: string, path: string, body?: object): Promise<Envelope | null> {
  const headers = { authorization: 'Bearer front-token', ...(body && { 'content-type': 'application/json' }) };
  const outgoing = request(`${root}${path}`, { method, headers, agent });
  try {
    outgoing.end(body && JSON.stringify(body));
    const [answer] = await once(outgoing, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString()) as Envelope;
  } catch (error) {
    // Nobody listened: it cannot have happened.
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return NOT_REACHED;
    return null;
  }
}
