import type { RootListBeside } from '../../wire/traits/file-reading.js';
import { keysInRootList, mendRootList, rootListTrouble } from '../document/beside-inbounds.js';
import { changeDocument } from '../document/change.js';
import { type ConfigurationDocument, losesInbounds, readDocument } from '../document/document.js';
import { recordsOf } from '../document/key-changes.js';
import type { ConfigurationFormat } from './known-file.js';
import { MANY_KEYS } from './reloads.js';

const MEND = '"keyway config adopt" takes them over into the inbounds, --mend-root-list does so by itself';

const TROUBLES = {
  'ends reloads': `access_keys: an element with "access_key" beside inbounds ends the live reloads of the server: nothing that is written into the file reaches it before the list is gone; ${MEND}`,
  'is there': `access_keys: a server has written the keys of its own API beside the inbounds, where its next start does not find them; ${MEND}`,
  'is missing':
    'access_keys: servers before 0.3.11 drop every key 5 s after their start where there is none beside inbounds; the next change of a key makes one, --mend-root-list does so by itself',
} as const;

/** What the layouts of the configuration file are read and changed with, where servers read a root list `beside` inbounds. */
export function formatBeside(beside: RootListBeside): ConfigurationFormat<ConfigurationDocument> {
  const change: ConfigurationFormat<ConfigurationDocument>['change'] = (document, asked, room) => {
    return changeDocument(document, asked, room, beside);
  };
  return {
    read: readDocument,
    change,
    records: recordsOf,
    losesKeys: losesInbounds,
    hasRootList: ({ besideInbounds }) => besideInbounds !== null,
    inRootList: keysInRootList,
    trouble(document, { wasThere }) {
      const trouble = rootListTrouble(document, beside);
      return trouble === null || (trouble === 'is there' && wasThere) ? null : TROUBLES[trouble];
    },
    mend(document, context) {
      if (rootListTrouble(document, beside) === null) return null;
      return mendRootList(document, {
        ...context,
        beside,
        mostRemoved: MANY_KEYS,
        change: (it, keys) => change(it, { keys }),
      });
    },
  };
}
