import type { LogPort } from '../core/ports.js';
import type { CommandContext } from './command.js';

/** Warnings and errors go where the command's own problems go; the rest is of no interest here. */
export function complainingLog({ complain }: CommandContext): LogPort {
  return {
    debug: () => {},
    info: () => {},
    warn: (_, message) => complain(message),
    error: (_, message) => complain(message),
  };
}
