import { itReplaces } from '../../core/replacements.js';
import { describeDatabase, freshDatabase } from './database.js';
import { openBackend } from './gateways.js';

describeDatabase('the configuration in a database', () => {
  itReplaces(async (before, log) => {
    const { document, close } = await openBackend(await freshDatabase(), { log });
    await document.put(Buffer.from(before));
    return {
      replace: (body) => document.replace(body),
      versions: async () => (await document.versions.list()).map(({ forever }) => forever),
      close,
    };
  });
});
