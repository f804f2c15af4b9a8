import { spawnSync } from 'node:child_process';

/**
 * Whether a tool of the system can be started. Says on standard error what is left out without it, so that a run shows
 * what it has not shown.
 */
export function isInstalled(tool: string, leftOut: string, versionFlag = '--version'): boolean {
  const { error } = spawnSync(tool, [versionFlag], { stdio: 'ignore' });
  if (error !== undefined) process.stderr.write(`skipped without ${tool}: ${leftOut}\n`);
  return error === undefined;
}
