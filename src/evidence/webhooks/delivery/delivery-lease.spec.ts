import { DeliveryLease, LEASE, RENEWAL } from './delivery-lease';

const START = 5_000;

function after(milliseconds: number): number {
  return START + milliseconds;
}

describe('DeliveryLease', () => {
  let lease: DeliveryLease;

  beforeEach(() => {
    lease = new DeliveryLease(LEASE);
  });

  it('is not held before it was asked for', () => {
    expect(lease.isHeldAt(START)).toBe(false);
  });

  it('is held from the moment it was asked for, and ends before another process may take it', () => {
    lease.renewed(7, START);
    expect(lease.term).toBe(7);
    expect(lease.isHeldAt(START)).toBe(true);
    expect(lease.isHeldAt(after(2 * RENEWAL))).toBe(true);
    expect(lease.isHeldAt(after(LEASE - 1))).toBe(false);
  });

  it('of a process that shares its database with no other does not lapse', () => {
    const own = new DeliveryLease(Infinity);
    expect(own.isHeldAt(START)).toBe(false);
    own.renewed(1, START);
    expect(own.isHeldAt(after(1_000 * LEASE))).toBe(true);
  });

  it('ends at once when somebody else has it, and goes on when it is renewed', () => {
    lease.renewed(1, START);
    lease.lost();
    expect(lease.isHeldAt(START)).toBe(false);
    lease.renewed(3, after(LEASE));
    expect([lease.isHeldAt(after(LEASE + RENEWAL)), lease.term]).toEqual([true, 3]);
  });
});
