import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogPort } from '../../../../src/core/ports.js';
import { createGateway } from '../../../../src/index.js';

const TOKEN = { authorization: 'Bearer t' };
const API = { protocol: 'api', listen: '127.0.0.1', port: 9090, token: 't' };
const INBOUNDS = JSON.stringify({ mode: 'server', inbounds: [API, { protocol: 'ostp', users: ['a', 'b'] }] });
const OLD_COPY = JSON.stringify({ mode: 'server', access_keys: ['a', 'b'], api: { enabled: true, token: 't' } });

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keyway-guard-'));
  path = join(folder, 'server.json');
});
afterEach(() => rm(folder, { recursive: true }));

/** Replaces a file through the API of a gateway that serves it. */
async function replace(before: string, body: string, { edited }: { edited?: string } = {}) {
  await writeFile(path, before);
  const errors: string[] = [];
  const log: LogPort = { debug() {}, info() {}, warn() {}, error: (_, message) => errors.push(message) };
  const app = await createGateway({ mounts: [{ revision: '0.2.60' }], configPath: path, log });
  try {
    if (edited !== undefined) await writeFile(path, edited);
    const url = '/panel/api/server/config';
    const headers = { ...TOKEN, 'content-type': 'application/json' };
    const answer = await app.inject({ method: 'PUT', url, headers, payload: body });
    const live = app.keyway.core.keys.size;
    return { status: answer.statusCode, body: answer.json(), errors, live };
  } finally {
    await app.close();
  }
}

const versions = () => readdir(join(folder, 'server.json.keyway', 'versions'));

describe('PUT /server/config with an old copy over a file with inbounds', () => {
  it('answers 400 that says why, and changes and keeps nothing', async () => {
    const { status, body, errors, live } = await replace(INBOUNDS, OLD_COPY);
    expect({ status, body, errors, live }).toEqual({
      status: 400,
      body: {
        ok: false,
        error: expect.stringMatching(/^Failed to write config file: .*no inbound with the protocol "ostp"/),
      },
      errors: [],
      live: 2,
    });
    expect(await readFile(path, 'utf8')).toBe(INBOUNDS);
    expect(await versions()).toEqual([]);
  });

  it('is refused by what the file holds now, though it was edited an instant before', async () => {
    const { status } = await replace(OLD_COPY, OLD_COPY, { edited: INBOUNDS });
    expect(status).toBe(400);
    expect(await readFile(path, 'utf8')).toBe(INBOUNDS);
  });
});

describe('PUT /server/config', () => {
  it.each([
    ['a file with inbounds by one with other inbounds', INBOUNDS, INBOUNDS.replace('"a",', '')],
    ['the other layout by itself', OLD_COPY, OLD_COPY.replace('"a",', '')],
    ['the other layout by inbounds', OLD_COPY, INBOUNDS],
    ['a file that has lost its inbound already', INBOUNDS.replace('ostp', 'other'), OLD_COPY],
  ])('replaces %s', async (_, before, body) => {
    const { status, errors } = await replace(before, body);
    expect({ status, errors }).toEqual({ status: 200, errors: [] });
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(JSON.parse(body));
  });
});
