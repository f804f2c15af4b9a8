import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { LocalRecords } from '../../src/core/kept-records.js';
import type { GatewayOptions } from '../../src/index.js';
import { KeptAddresses } from '../../src/own-api/kept-addresses.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';
import { subscriptionToken } from '../../src/subscription/token.js';
import { folderForTest } from '../folder-for-test.js';
import { describeDatabase, freshDatabase } from '../homes/database/database.js';
import { listen } from '../northbound/gateway.js';
import { fileStage } from './homes.js';
import { type OwnReply, type OwnStage, ownStage, TOKEN } from './stage.js';

type Open = () => Promise<Partial<GatewayOptions>>;

const tokenOf = ({ body }: OwnReply): string => String(Object(body).data.token);

const statusOf = async ({ app }: OwnStage, token: string) => (await app.inject(`/sub/${token}`)).statusCode;

function testsOver(home: Open): void {
  it('is random, the same each time, and goes on after a rotation and a restart, until it is taken back', async () => {
    const options = { subscriptionTokens: true, ...(await home()) };
    const first = await ownStage(options);
    await first.app.keyway.core.createUser({ accessKey: 'a', name: 'Anna' });
    const handedOut = await first.call('POST /keys/a/address');
    const token = tokenOf(handedOut);
    expect(handedOut).toMatchObject({ status: 200, body: { data: { path: `/sub/${token}`, url: null } } });
    expect([token === subscriptionToken('a'), await statusOf(first, token)]).toEqual([false, 200]);
    expect(tokenOf(await first.call('POST /keys/a/address'))).toBe(token);
    const rotated = await first.call('POST /keys/a/rotate', { body: {} });
    const successor = String(Object(rotated.body).data.access_key);
    expect([await statusOf(first, subscriptionToken('a')), await statusOf(first, token)]).toEqual([404, 200]);
    await first.app.close();
    const second = await ownStage(options);
    expect((await second.app.inject(`/sub/${token}`)).body).toContain(`ostp://${successor}@`);
    expect(tokenOf(await second.call(`POST /keys/${successor}/address`))).toBe(token);
    expect(await second.call(`DELETE /keys/${successor}/address`)).toMatchObject({ status: 200, body: { data: null } });
    expect([await statusOf(second, token), await statusOf(second, subscriptionToken(successor))]).toEqual([404, 200]);
    expect(tokenOf(await second.call(`POST /keys/${successor}/address`))).not.toBe(token);
  });
}

describe('a subscription address that Keyway hands out', () => {
  describe('over a file', () => {
    testsOver(async () => {
      const configPath = join(await folderForTest(), 'server.json');
      await writeFile(configPath, '{ "mode": "server", "access_keys": [] }');
      return { configPath };
    });
  });

  describeDatabase('over a database', () => testsOver(async () => ({ database: { url: await freshDatabase() } })));

  describe('in front of a server', () => {
    testsOver(async () => {
      const port = await listen((await fileStage()).app);
      return { upstream: { url: `http://127.0.0.1:${port}/panel`, token: TOKEN }, dataDir: await folderForTest() };
    });
  });

  it('is one however many ask for it at once', async () => {
    const stage = await ownStage();
    await stage.app.keyway.core.createUser({ accessKey: 'a' });
    const handedOut = await Promise.all([1, 2, 3].map(() => stage.call('POST /keys/a/address')));
    expect(new Set(handedOut.map(tokenOf)).size).toBe(1);
  });

  it('is found by its key without a look at those of other keys', async () => {
    const records = new LocalRecords();
    const addresses = new KeptAddresses(records, systemClock, systemRandom);
    const reads = vi.spyOn(records.of('addresses'), Symbol.iterator);
    const token = await addresses.handOut('a');
    await records.change(addresses.moved('a', 'b'));
    expect([addresses.keyOf(token), await addresses.handOut('b')]).toEqual(['b', token]);
    expect(reads).not.toHaveBeenCalled();
  });

  it('ends with its key, and there is none for a key that is not', async () => {
    const stage = await ownStage({ subscriptionTokens: true });
    await stage.app.keyway.core.createUser({ accessKey: 'a' });
    const token = tokenOf(await stage.call('POST /keys/a/address'));
    await stage.app.keyway.core.deleteUser('a');
    expect(await statusOf(stage, token)).toBe(404);
    expect(await stage.call('POST /keys/a/address')).toMatchObject({ status: 404, body: { code: 'user_not_found' } });
  });

  it('is removed once its key was missing at two looks, or its time is over', async () => {
    const now = { time: 0 };
    const records = new LocalRecords();
    const addresses = new KeptAddresses(records, { now: () => now.time }, systemRandom);
    const [stays, goes] = [await addresses.handOut('stays'), await addresses.handOut('goes')];
    const until = JSON.stringify({ accessKey: 'stays', until: 5 });
    await records.change([{ kind: 'addresses', id: 'kept by an older Keyway', body: until }]);
    const keys = { get: (accessKey: string) => (accessKey === 'stays' ? Object({ accessKey }) : undefined) };
    await addresses.sweep(keys);
    const left = () => new Set(records.of('addresses').keys());
    expect(left()).toEqual(new Set([stays, goes, 'kept by an older Keyway']));
    now.time = 5;
    await addresses.sweep(keys);
    expect(left()).toEqual(new Set([stays]));
  });
});
