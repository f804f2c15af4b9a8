import { connect } from 'node:net';
import { type AskedToken, type NamedToken, NamedTokens, noToken, tokenTaken } from '../core/named-tokens.js';
import { type DayOfUse, OperationUse } from '../core/operation-use.js';
import { PRESETS, TERMINAL } from '../core/principal.js';
import { openRecords } from '../gateway/homes/records.js';
import type { HomePlace } from '../settings/home.js';
import { isJsonObject, type JsonObject } from '../wire/json/json.js';
import type { CommandContext } from './command.js';
import { complainingLog } from './complaining-log.js';
import { expectDocuments } from './keys/home.js';
import { openOwnCalls } from './own-call.js';
import { servingSocket } from './serving-socket.js';

/** Keyway's own records, asked of the Keyway that serves, else opened for as long as the command takes. */
export interface OwnRecords {
  /** False where they end with the Keyway that serves. */
  readonly outliveProcess: boolean;
  tokens(): Promise<readonly NamedToken[]>;
  /** Resolves to the secret. */
  addToken(asked: AskedToken): Promise<string>;
  removeToken(name: string): Promise<void>;
  usage(days: number): Promise<readonly DayOfUse[]>;
  close(): Promise<void>;
}

/** The settings by which commands find the records. */
export const RECORDS_SETTINGS = ['config', 'dataDir', 'inPlace', 'upstream', 'database'] as const;

/** Opens the records of a home. Rejects with an `Error` for people. */
export async function openOwnRecords(home: HomePlace, context: CommandContext): Promise<OwnRecords> {
  const socket = await servingSocket(home, context.fileSystem);
  if (socket !== null) return overSocket(socket);
  await expectDocuments(home, context);
  return openByItself(home, context);
}

async function openByItself(home: HomePlace, context: CommandContext): Promise<OwnRecords> {
  const { clock, random } = context;
  const { records, close } = await openRecords(home, { ...context, log: complainingLog(context) });
  const tokens = new NamedTokens({ records, clock, random });
  const use = new OperationUse({ records, clock });
  return {
    outliveProcess: records.outliveProcess,
    tokens: async () => tokens.list(),
    async addToken(asked) {
      const secret = await tokens.add(asked, TERMINAL);
      if (secret === null) throw new Error(`conflict: ${tokenTaken(asked.name)}`);
      return secret;
    },
    async removeToken(name) {
      if (!(await tokens.remove(name))) throw new Error(`not found: ${noToken(name)}`);
    },
    usage: async (days) => use.days(days),
    close,
  };
}

function overSocket(socketPath: string): OwnRecords {
  const { call, close } = openOwnCalls(() => connect(socketPath));
  const rows = async (path: string): Promise<readonly JsonObject[]> => {
    const data = await call('GET', path);
    return Array.isArray(data) ? data.filter(isJsonObject) : [];
  };
  return {
    outliveProcess: true,
    tokens: async () => (await rows('/tokens')).map(tokenOf),
    async addToken({ name, may, expiresAt, label }) {
      const expires = expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() };
      const made = await call('POST', '/tokens', { name, may, label, ...expires });
      return isJsonObject(made) ? textOf(made, 'token') : '';
    },
    async removeToken(name) {
      await call('DELETE', `/tokens/${encodeURIComponent(name)}`);
    },
    usage: async (days) => (await rows(`/usage?days=${days}`)).map(useOf),
    close: async () => close(),
  };
}

function tokenOf(row: JsonObject): NamedToken {
  const may = PRESETS.find((preset) => preset === row.may);
  if (may === undefined) throw new Error('it answers with tokens of a later Keyway');
  return {
    ...{ name: textOf(row, 'name'), may, madeBy: textOf(row, 'made_by') },
    createdAt: Date.parse(textOf(row, 'created_at')),
    expiresAt: row.expires_at === null ? null : Date.parse(textOf(row, 'expires_at')),
    label: typeof row.label === 'string' ? row.label : null,
  };
}

function useOf(row: JsonObject): DayOfUse {
  return {
    ...{ by: textOf(row, 'by'), program: textOf(row, 'program'), revision: textOf(row, 'revision') },
    ...{ operation: textOf(row, 'operation'), day: textOf(row, 'day'), count: Number(row.count) },
    lastSeen: Date.parse(textOf(row, 'last_seen')),
  };
}

function textOf(row: JsonObject, member: string): string {
  const value = row[member];
  return typeof value === 'string' ? value : '';
}
