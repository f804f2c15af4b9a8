import type { Audit } from '../core/audit.js';
import type { AuditEntry } from '../core/model.js';
import { type Now, withNow } from '../core/now.js';
import { successEnvelope } from '../wire/envelope.js';

/** The `GET /audit` answer. */
export type AuditBody = () => Now<Buffer>;

/** Builds it once per change: requests that nobody reads share its bytes, however many a stranger sends. */
export function createAuditBody(audit: Pick<Audit, 'list'>): AuditBody {
  let builtFor: readonly AuditEntry[] | null = null;
  let body = Buffer.alloc(0);
  return () =>
    withNow(audit.list(), (entries) => {
      if (entries !== builtFor) {
        body = Buffer.from(successEnvelope(entries.map((entry) => ({ ...entry }))));
        builtFor = entries;
      }
      return body;
    });
}
