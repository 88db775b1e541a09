import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { withTimeLimit } from './time-limit';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Resolves once the signal fires; nothing else holds it. */
function fired(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));
}

describe('A signal with a time limit', () => {
  it('fires when the time is over, also once garbage was collected', async () => {
    const reason = fired(withTimeLimit(new AbortController().signal, 500));
    await sleep(100);
    collectGarbage();
    expect(await Promise.race([reason, sleep(5_000, 'never')])).toMatchObject({ name: 'TimeoutError' });
  });

  it('fires with the other signal', async () => {
    const other = new AbortController();
    const reason = fired(withTimeLimit(other.signal, 60_000));
    collectGarbage();
    other.abort('stopped');
    expect(await reason).toBe('stopped');
  });
});
