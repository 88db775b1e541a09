import { FixedWindows, ProcessCounter } from './rate-limits';

describe('FixedWindows', () => {
  it('counts each client from its first request to the end of its window', () => {
    const windows = new FixedWindows(1000, 10);
    expect(windows.hit('a', 1, 500)).toEqual({ hits: 1, resetsAt: 1500 });
    expect(windows.hit('a', 1, 1499)).toEqual({ hits: 2, resetsAt: 1500 });
    expect(windows.hit('b', 1, 1499)).toEqual({ hits: 1, resetsAt: 2499 });
    expect(windows.hit('a', 1, 1500)).toEqual({ hits: 1, resetsAt: 2500 });
  });

  it('keeps counting a client while others come and go', () => {
    const windows = new FixedWindows(1000, 10_000);
    windows.hit('a', 1, 900);
    for (let index = 0; index < 3000; index += 1) windows.hit(`other ${index}`, 1, 900 + index / 4);
    expect(windows.hit('a', 1, 1899).hits).toBe(2);
  });

  it('never remembers more clients than its maximum', () => {
    const windows = new FixedWindows(60_000, 1000);
    let most = 0;
    for (let index = 0; index < 1_000_000; index += 1) {
      windows.hit(`client ${index}`, 1, 1_000_000 + (index % 60_000));
      most = Math.max(most, windows.size);
    }
    expect(most).toBeLessThanOrEqual(1000);
  });

  it('forgets clients whose windows are over', () => {
    const windows = new FixedWindows(1000, 1_000_000);
    for (let index = 0; index < 1000; index += 1) windows.hit(`client ${index}`, 1, 5000);
    windows.hit('a', 1, 7000);
    windows.hit('b', 1, 9000);
    expect(windows.size).toBe(2);
  });

  it('starts a new window if the clock is set back', () => {
    const windows = new FixedWindows(1000, 1_000_000);
    for (let index = 0; index < 1000; index += 1) windows.hit(`client ${index}`, 1, 90_000_000);
    windows.hit('a', 1, 90_000_000);
    expect(windows.hit('a', 1, 3_600_000)).toEqual({ hits: 1, resetsAt: 3_601_000 });
    expect(windows.hit('a', 1, 3_600_999)).toEqual({ hits: 2, resetsAt: 3_601_000 });
    expect(windows.hit('a', 1, 3_600_500)).toEqual({ hits: 3, resetsAt: 3_601_000 });
    windows.hit('b', 1, 3_602_000);
    windows.hit('b', 1, 3_604_000);
    expect(windows.size).toBe(2);
  });
});

describe('ProcessCounter', () => {
  it('keeps counting those with a key, however many strangers come', () => {
    const counter = new ProcessCounter(60_000);
    counter.hit('keys', 'a', 3);
    for (let index = 0; index < 300_000; index += 1) counter.hit('strangers', `client ${index}`, 1);
    expect(counter.hit('keys', 'a', 1).hits).toBe(4);
  });
});
