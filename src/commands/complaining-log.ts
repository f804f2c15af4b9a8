import type { LogPort } from '../core/ports.js';
import type { CommandContext } from './command.js';

/** Warnings and errors go where the command's own problems go; the rest is of no interest here. */
export function complainingLog({ complain }: CommandContext): LogPort {
  const say = ({ reason }: Readonly<Record<string, unknown>>, message: string) =>
    complain(typeof reason === 'string' ? `${message}: ${reason}` : message);
  return { debug: () => {}, info: () => {}, warn: say, error: say };
}
