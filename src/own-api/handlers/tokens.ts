import type { AuditEvent } from '../../core/audit.js';
import { DomainError } from '../../core/errors.js';
import { noToken, tokenTaken } from '../../core/named-tokens.js';
import { answer, type OwnContext, type OwnHandler, withBody } from '../call.js';
import { OwnError } from '../errors.js';
import type { NewToken } from '../rows/tokens.js';

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** The time that a member of a body says, in milliseconds since the epoch. Throws `invalidBody`. */
function timeIn(member: string, text: string): number {
  const time = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new DomainError('invalidBody', `${member}: expected a time such as 2027-01-31T12:00:00Z`);
  return time;
}

const timeOf = (milliseconds: number): string => new Date(milliseconds).toISOString();

/**
 * Records an action in the audit list. It never fails the call: the action is done, and its caller must get the secret.
 */
export async function tell({ core, log }: OwnContext, event: Pick<AuditEvent, 'eventEn' | 'eventRu'>): Promise<void> {
  try {
    await core.audit.add({ ...event, success: true });
  } catch (error) {
    log.warn({ err: error, event: event.eventEn }, 'the audit list does not take what was done');
  }
}

export const TOKEN_HANDLERS = {
  listTokens: ({ context: { named } }) =>
    answer(
      named.list().map(({ name, may, createdAt, expiresAt, madeBy, label }) => ({
        ...{ name, may, created_at: timeOf(createdAt), made_by: madeBy },
        expires_at: expiresAt === null ? null : timeOf(expiresAt),
        label,
      })),
    ),
  addToken: withBody<NewToken>(
    async ({ context, principal }, { name: asked, may, expires_at = null, label = null }) => {
      const name = asked ?? context.named.freeName();
      const expiresAt = expires_at === null ? null : timeIn('expires_at', expires_at);
      const token = await context.named.add({ name, may, expiresAt, label }, principal);
      if (token === null) throw new DomainError('conflict', tokenTaken(name));
      await tell(context, {
        eventEn: `Token ${name} (${may}) made by ${principal.name}`,
        eventRu: `Токен ${name} (${may}) создан: ${principal.name}`,
      });
      return { ...answer({ name, token }), status: 200 };
    },
  ),
  removeToken: async ({ context, principal, params: { name = '' } }) => {
    if (!(await context.named.remove(name))) throw new OwnError('notFound', noToken(name));
    await tell(context, {
      eventEn: `Token ${name} removed by ${principal.name}`,
      eventRu: `Токен ${name} удалён: ${principal.name}`,
    });
    return answer(null);
  },
} as const satisfies Readonly<Record<string, OwnHandler>>;
