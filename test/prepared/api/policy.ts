/** Invalid quotas of workspaces. */
export const BAD_QUOTAS = [
  'pods',
  'pods=',
  'pods=1.5',
  'pods=-1',
  'pods=1,pods=2',
  'gpu=1',
  'cpu=two',
  'cpu=2=3',
  'count/pods=1.5',
  'cpu=1e99999999',
  '__proto__=1',
] as const
