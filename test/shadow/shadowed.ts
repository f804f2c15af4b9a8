import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { ShadowReport } from '../../src/shadow/tally.js';
import { listeningAt, type Running, startKeyway } from '../commands/process.js';
import { TOKEN } from '../replay/live-server.js';

export const API = '/panel/api';
export const LISTEN = ['--listen', '127.0.0.1:0'];
export const authorization = `Bearer ${TOKEN}`;

export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'keyway-shadow-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A report that never holds is shown before the test's own time is over. */
export const WAITED = { timeout: 50_000, interval: 50 };

/** What passes before is not compared. */
export const hasBegun = (report: ShadowReport) => report.shadow !== null;

export interface Shadowed {
  readonly url: string;
  readonly folder: string;
  readonly running: Running;
  get(path: string): Promise<string>;
  /** The report, once it holds. */
  report(holds: (report: ShadowReport) => boolean, milliseconds?: number): Promise<ShadowReport>;
}

export async function shadowed(
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Shadowed> {
  const folder = await emptyFolder();
  const running = startKeyway(['shadow', ...flags], { folder, environment });
  onTestFinished(() => void running.child.kill('SIGKILL'));
  const url = await listeningAt(running);
  return {
    url,
    folder,
    running,
    get: async (path) => (await fetch(`${url}${path}`, { headers: { authorization } })).text(),
    report: (holds, timeout = WAITED.timeout) => {
      const looked = async () => {
        const text = await readFile(join(folder, 'keyway-shadow.json'), 'utf8');
        const report: ShadowReport = JSON.parse(text);
        expect(report).toSatisfy(holds);
        return report;
      };
      return vi.waitFor(looked, { ...WAITED, timeout });
    },
  };
}
