/** How much later a server's start may seem without its having been restarted: uptimes are whole seconds. Milliseconds. */
const JITTER = 3_000;

/** When the server started, by the monotonic clock of this process, ms. */
export function startOf(status: {
  readonly sentAt: number;
  readonly value: { readonly uptimeSeconds: bigint };
}): number {
  return status.sentAt - Number(status.value.uptimeSeconds) * 1000;
}

/** Whether a server that started then is another run of it than the one that was known. */
export function isRestarted(known: number | null, start: number): boolean {
  return known !== null && start > known + JITTER;
}
