import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GatewayOptions } from '../../src/index.js';
import { folderForTest } from '../folder-for-test.js';
import { freshDatabase } from '../homes/database/database.js';
import { listen } from '../northbound/gateway.js';
import { type OwnStage, ownStage, TOKEN } from './stage.js';

/** A gateway over a configuration file. */
export async function fileStage(options: Partial<GatewayOptions> = {}) {
  const configPath = join(await folderForTest(), 'server.json');
  await writeFile(configPath, '{ "mode": "server", // mine\n  "access_keys": [] }');
  return { configPath, ...(await ownStage({ configPath, ...options })) };
}

/** A gateway over a database of its own. */
export async function databaseStage(options: Partial<GatewayOptions> = {}): Promise<OwnStage> {
  return ownStage({ database: { url: await freshDatabase() }, ...options });
}

/** A gateway in front of another one, which plays the server. The options are those of the one in front. */
export async function frontStage(
  options: Partial<GatewayOptions> = {},
): Promise<OwnStage & { readonly behind: OwnStage }> {
  const behind = await fileStage();
  const port = await listen(behind.app);
  const upstream = { url: `http://127.0.0.1:${port}/panel`, token: TOKEN };
  return { behind, ...(await ownStage({ upstream, dataDir: await folderForTest(), ...options })) };
}
