import { Logger } from '@nestjs/common';
import { FailedAuthentications } from './failed-authentications';

describe('Failed authentications', () => {
  const lines: unknown[] = [];

  beforeEach(() => {
    jest.useFakeTimers();
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(line));
    lines.splice(0);
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  function started(): FailedAuthentications {
    const failed = new FailedAuthentications();
    failed.onModuleInit();
    return failed;
  }

  function fail(failed: FailedAuthentications, times: number): void {
    for (let time = 0; time < times; time += 1) failed.note({ id: `r-${time}`, address: '192.0.2.1' });
  }

  it('leave a line for the first, and one a minute with the number of others', () => {
    const failed = started();
    fail(failed, 1_000);
    const [ip, requestId] = ['192.0.2.1', 'r-0'];
    expect(lines).toEqual([{ msg: 'Authentication failed', requestId, ip, failures: 1, failuresSinceStart: 1 }]);
    jest.advanceTimersByTime(60_000);
    fail(failed, 5);
    jest.advanceTimersByTime(60_000);
    expect(lines.slice(1)).toEqual([
      { msg: 'More authentications failed', ip: '192.0.2.1', failures: 999, failuresSinceStart: 1_000 },
      { msg: 'More authentications failed', ip: '192.0.2.1', failures: 5, failuresSinceStart: 1_005 },
    ]);
    failed.onApplicationShutdown();
    expect(lines).toHaveLength(3);
  });

  it('leave a line at once again after a minute without any', () => {
    const failed = started();
    fail(failed, 1);
    jest.advanceTimersByTime(60_000);
    fail(failed, 1);
    expect(lines).toHaveLength(2);
    failed.onApplicationShutdown();
  });

  it('are reported when the service stops', () => {
    const failed = started();
    fail(failed, 3);
    failed.onApplicationShutdown();
    expect(lines).toEqual([
      expect.objectContaining({ failures: 1 }),
      { msg: 'More authentications failed', ip: '192.0.2.1', failures: 2, failuresSinceStart: 3 },
    ]);
  });
});
