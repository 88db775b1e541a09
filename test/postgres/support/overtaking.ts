import { LedgerService } from '../../../src/ledger/ledger.service';
import type { TestApp } from '../../support/application/create-test-app';

/**
 * Sends a request whose first command waits until another request, at another replica, is answered. What the first
 * request has read before its command is then out of date.
 * @returns the answers to the overtaken request and to the other
 */
export async function overtake<Overtaken, Overtaking>(
  { application }: TestApp,
  overtaken: () => Promise<Overtaken>,
  overtaking: () => Promise<Overtaking>,
): Promise<[Overtaken, Overtaking]> {
  const ledger = application.get(LedgerService);
  const write = ledger.write.bind(ledger);
  let other: Promise<Overtaking> | undefined;
  const spy = jest.spyOn(ledger, 'write').mockImplementation(async (...command: Parameters<typeof write>) => {
    other ??= overtaking();
    await other;
    return write(...command);
  });
  try {
    const answer = await overtaken();
    if (other === undefined) throw new Error('The request has written nothing.');
    return [answer, await other];
  } finally {
    spy.mockRestore();
  }
}
