/**
 * What all come to. Where several fail it throws the failure of the first that was called: in a transaction that has
 * failed, every later statement fails only for that.
 */
export async function allInOrder<Results extends readonly unknown[]>(
  ...calls: { readonly [Index in keyof Results]: Promise<Results[Index]> }
): Promise<Results> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}
