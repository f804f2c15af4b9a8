import type { UpstreamServer } from '../../client/server.js';
import { mayHaveHappened } from '../../client/upstream-error.js';
import { DomainError } from '../../core/errors.js';
import type { KeyReader } from '../../core/keys/types.js';
import type { OutboundRule } from '../../core/model.js';
import type { LogPort } from '../../core/ports.js';
import { changeDocument } from '../../document/change.js';
import { type ConfigurationDocument, ConfigurationShapeError, readDocument } from '../../document/document.js';
import { failureWords } from '../../platform/failure-words.js';
import { type ConfigurationAccess, refuseLater } from './configuration.js';
import type { UpstreamContext } from './context.js';
import { ownChange } from './struck-configuration.js';
import type { WriteQueue } from './write-queue.js';

export interface RulesWriteOptions extends UpstreamContext {
  readonly keys: Pick<KeyReader, 'get'>;
  readonly queue: WriteQueue;
  readonly configuration: Pick<ConfigurationAccess, 'read' | 'readBytes' | 'keep' | 'send'>;
}

/**
 * Gives rules to a server that takes them (design: "A change of rules"): its configuration is kept and sent first, because
 * what has comments, which the API does not show, would leave nothing of the file; and looked at afterwards, because
 * somebody may have put them in since. Rejects as the server refuses either.
 */
export function createRulesWrite(options: RulesWriteOptions): (rules: readonly OutboundRule[]) => Promise<void> {
  const { server, keys, queue, configuration, log } = options;

  async function kept(): Promise<ConfigurationDocument | null> {
    try {
      const { document } = (await configuration.read('caller')).value;
      await configuration.keep(document.bytes);
      return document;
    } catch (error) {
      // Nothing is there that could be lost: the rules are live, and the failure to store them changes no answer.
      if (error instanceof DomainError && WITHOUT_FILE.has(error.code)) return null;
      throw error;
    }
  }

  /** Returns whether the server still has a configuration with room for its keys. */
  async function isWhole(before: ConfigurationDocument): Promise<boolean> {
    try {
      const { value } = await configuration.readBytes();
      readDocument(value);
      return value.length >= leastBytes(before, keys);
    } catch (error) {
      if (error instanceof DomainError && !BROKEN.has(error.code)) throw error;
      return false;
    }
  }

  async function mend(before: ConfigurationDocument, rules: readonly OutboundRule[]): Promise<void> {
    await configuration.keep(before.bytes, { forever: true });
    await configuration.send(withRules(before, rules, options));
    log.error({ upstream: server.name }, DESTROYED);
  }

  async function lookAt(before: ConfigurationDocument, rules: readonly OutboundRule[]): Promise<void> {
    try {
      if (!(await isWhole(before))) await mend(before, rules);
    } catch (error) {
      // The rules are live. What stood in the file is kept, and `keyway config restore` writes it out.
      log.error({ upstream: server.name, reason: failureWords(error) }, NOT_PUT_RIGHT);
    }
  }

  return (rules) =>
    queue.take(async () => {
      await refuseLater(server);
      const before = await kept();
      if (before !== null) await configuration.send(before);
      try {
        await server.putRules(rules);
      } catch (error) {
        if (before !== null && mayHaveHappened(error)) await lookAt(before, rules);
        throw error;
      }
      if (before !== null) await lookAt(before, rules);
    });
}

/** The failures of a server that has no file to store rules in. */
const WITHOUT_FILE: ReadonlySet<string> = new Set(['noConfigPath', 'configReadFailed']);
const BROKEN: ReadonlySet<string> = new Set(['configStripFailed', 'configParseFailed']);

const DESTROYED =
  'the server had destroyed its configuration file with a change of rules: it was sent the one of before again';
const NOT_PUT_RIGHT =
  'the server may have destroyed its configuration file with a change of rules, and it was not put right: what stood there before is kept as a version';

/** The configuration with these rules, or as it is where it cannot hold them, which is logged. */
export function withRules(
  document: ConfigurationDocument,
  rules: readonly OutboundRule[],
  { server, log }: { readonly server: Pick<UpstreamServer, 'texts'>; readonly log: LogPort },
): ConfigurationDocument {
  try {
    return readDocument(changeDocument(document, ownChange({ rules }, server.texts)).bytes).document;
  } catch (error) {
    if (!(error instanceof ConfigurationShapeError)) throw error;
    log.warn({ reason: error.message }, 'the rules cannot be stored for the next start of the server');
    return document;
  }
}

/** Returns the bytes that the remaining keys of a configuration take in any spelling. */
function leastBytes({ bytes }: ConfigurationDocument, keys: Pick<KeyReader, 'get'>): number {
  let least = 0;
  for (const { accessKey } of readDocument(bytes).configuration.keys)
    if (keys.get(accessKey) !== undefined) least += accessKey.length + 3;
  return least;
}
