/** The most requests in flight at once. */
const PARALLEL = 16

/** Runs `work` for 0 to `count` - 1, in that order, several at a time. */
export async function inParallel(count: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let at = next++; at < count; at = next++) await work(at)
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
}
