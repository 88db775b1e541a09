import { steadyTime } from '../../../core/concurrency/steady-time';
import type { Database } from '../../../ledger/database/database';
import { DeliveryLease, LEASE, RENEWAL } from './delivery-lease';

describe('DeliveryLease', () => {
  let terms: readonly { readonly term: number }[];
  let lease: DeliveryLease;
  let start: number;

  function leaseOf(isShared: boolean): DeliveryLease {
    const sideConnection = { all: async () => terms as never[], close: async () => undefined };
    return new DeliveryLease({ sideConnection, isShared, processId: 'own' } as unknown as Database);
  }

  beforeEach(() => {
    terms = [{ term: 7 }];
    lease = leaseOf(true);
    start = steadyTime();
  });

  it('is not held before it was requested', () => {
    expect(lease.isHeldAt(start)).toBe(false);
  });

  it('is held from the moment it was requested, and ends before another process may take it', async () => {
    expect(await lease.hold()).toBe(7);
    expect(lease.term).toBe(7);
    expect(lease.isHeldAt(start)).toBe(true);
    expect(lease.isHeldAt(start + 2 * RENEWAL)).toBe(true);
    expect(lease.isHeldAt(steadyTime() + LEASE - 1)).toBe(false);
  });

  it('of a process that shares its database with no other does not lapse', async () => {
    const own = leaseOf(false);
    expect(own.isHeldAt(start)).toBe(false);
    expect(await own.hold()).toBe(1);
    expect(own.isHeldAt(start + 1_000 * LEASE)).toBe(true);
  });

  it('ends at once when somebody else has it, and goes on when it is renewed', async () => {
    await lease.hold();
    terms = [];
    expect(await lease.hold()).toBeNull();
    expect(lease.isHeldAt(start)).toBe(false);
    terms = [{ term: 9 }];
    expect(await lease.hold()).toBe(9);
    expect([lease.isHeldAt(start + RENEWAL), lease.term]).toEqual([true, 9]);
  });
});
