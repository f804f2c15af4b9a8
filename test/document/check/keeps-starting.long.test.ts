import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../../revisions/all.js';
import { inFormOf, resolverSettings } from '../../../src/core/dns-settings.js';
import type { AccessKey, ConfigurationChange, DnsChange, DnsConfig } from '../../../src/core/model.js';
import { changeDocument } from '../../../src/document/change.js';
import { keysProblem, sectionsProblemsSteps } from '../../../src/document/check/keeps-starting.js';
import { readServerText } from '../../../src/document/check/server-text.js';
import { startProblem } from '../../../src/document/check/start.js';
import { readDocument } from '../../../src/document/document.js';
import type { FileServer } from '../../../src/wire/traits/server-file.js';
import { tries } from '../../tries.js';
import { anyChange } from '../generated.js';
import { address, engineDns, flatFile, nestedFile, url } from '../started.js';

const SERVERS: readonly FileServer[] = REVISIONS.map(({ file, reportedVersion }) => ({
  file,
  version: reportedVersion,
}));

const starts = (bytes: Buffer, { file }: FileServer) => startProblem(readServerText(bytes), file) === null;

/** A body that a page of some line's sends for its DNS settings, as a change of those that are in force. */
const posted = fc
  .record(
    {
      enabled: fc.boolean(),
      doh_upstream: fc.constant('https://9.9.9.9/dns-query'),
      adblock_urls: fc.array(url, { maxLength: 2 }),
      custom_domains: fc.dictionary(fc.constantFrom('a.example', 'c.example'), address, { maxKeys: 2 }),
    },
    { requiredKeys: ['enabled'] },
  )
  .chain((older) =>
    fc
      .constantFrom(...REVISIONS.flatMap(({ capabilities: { dns: one } }) => one?.form ?? []))
      .map((form) => form.decode(older)),
  );
const engines = REVISIONS.flatMap(({ capabilities: { dnsEngine } }) => dnsEngine?.form ?? []);
const replaced = engineDns.chain(({ cache_size: size, upstreams, ...body }) =>
  fc.constantFrom(...engines).map((form) =>
    form.decode({
      ...body,
      ...(upstreams === undefined || upstreams.length === 0 ? {} : { upstreams }),
      ...(size === undefined ? {} : { cache_size: BigInt(size) }),
    }),
  ),
);

const anyDnsChange: fc.Arbitrary<DnsChange> = fc.oneof(posted, replaced);

describe('a server that starts from a file', () => {
  it('starts from it after any change of keys, rules and DNS settings that any mount makes, but without keys or with names that it does not take', () => {
    fc.assert(
      fc.property(
        fc.oneof(flatFile, nestedFile),
        fc.array(
          fc.oneof(
            anyChange,
            anyDnsChange.map((one): ConfigurationChange => ({ dns: one })),
          ),
          {
            minLength: 1,
            maxLength: 3,
          },
        ),
        (file, changes) => {
          const bytes = Buffer.from(JSON.stringify(file, null, 2));
          for (const server of SERVERS.filter((one) => starts(bytes, one))) {
            let { document } = readDocument(bytes);
            for (const change of changes) document = made(document, change, server);
            const after = readServerText(document.bytes);
            expect(keysProblem(document, server.file) ?? startProblem(after, server.file), server.version).toBe(
              keysProblem(document, server.file),
            );
            expect(readDocument(document.bytes).document.layout).toBe(document.layout);
          }
        },
      ),
      { numRuns: tries(150) },
    );
  });

  it('has DNS settings of both forms after a change in either, which say the same', () => {
    fc.assert(
      fc.property(flatFile, anyDnsChange, (file, change) => {
        const { document, configuration } = readDocument(Buffer.from(JSON.stringify(file)));
        const asked = inFormOf(configuration.dns, change);
        const changed = changeDocument(document, { dns: asked }, undefined, SERVERS);
        const { dns: read } = readDocument(changed.bytes).configuration;
        expect(inForce(read)).toEqual(inForce({ ...configuration.dns, ...asked }));
        const again = changeDocument(changed, { dns: asked }, undefined, SERVERS);
        expect(again.bytes.toString()).toBe(changed.bytes.toString());
      }),
      { numRuns: tries(100) },
    );
  });
});

const inForce = (settings: DnsConfig) => ({ enabled: settings.enabled, ...resolverSettings(settings) });

/** The document with a change; as it was where it cannot hold it. */
function made(
  document: ReturnType<typeof readDocument>['document'],
  change: ConfigurationChange,
  server: FileServer,
): ReturnType<typeof readDocument>['document'] {
  const { dns: present } = readDocument(document.bytes).configuration;
  const keys = change.keys === undefined ? undefined : new Map<string, AccessKey | null>(change.keys);
  try {
    const asked = {
      ...change,
      ...(keys && { keys }),
      ...(change.dns && { dns: inFormOf(present, change.dns) }),
    };
    return changeDocument(document, asked, undefined, [server]);
  } catch {
    return document;
  }
}

it('a large document is looked at once for all servers, a piece at a time, and not again', () => {
  const extra = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`member ${index}`, index]));
  const { document } = readDocument(Buffer.from(JSON.stringify({ mode: 'server', access_keys: ['a'], extra })));
  const files = SERVERS.map(({ file }) => file);
  const [first, second] = [1, 2].map(() => [...sectionsProblemsSteps(document, files)].length);
  expect(first).toBeGreaterThan(20);
  expect(first).toBeLessThan(100);
  expect(second).toBe(0);
});
