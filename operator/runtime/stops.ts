/** One function that stops all of what the given ones stop. */
export function stopAll(stops: readonly (() => void)[]): () => void {
  return () => {
    for (const stop of stops) stop()
  }
}
