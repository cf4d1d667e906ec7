import { resolveBinaries } from '../../sandbox/control-plane/binaries.ts'

/** Provides the servers before any test waits for them, where people can see the progress. */
export default async function prepareBinaries(): Promise<void> {
  await resolveBinaries()
}
