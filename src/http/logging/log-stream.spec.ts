import { setImmediate as nextTurn } from 'node:timers/promises';
import { GatheredLines } from './log';

const INFO = '{"level":"info","msg":"a"}\n';
const WARNING = '{"level":"warn","msg":"b"}\n';

describe('GatheredLines', () => {
  const written: string[] = [];
  const lines = new GatheredLines({ write: (text) => written.push(text) });

  beforeEach(() => written.splice(0));

  it('writes the lines of one iteration of the event loop together, after it', async () => {
    for (let count = 0; count < 3; count += 1) lines.write(INFO);
    expect(written).toEqual([]);
    await nextTurn();
    expect(written).toEqual([INFO.repeat(3)]);
    lines.write(INFO);
    await nextTurn();
    expect(written).toEqual([INFO.repeat(3), INFO]);
  });

  it.each(['warn', 'error', 'fatal'])('writes a line of level %s at once, after the earlier ones', async (level) => {
    const line = WARNING.replace('warn', level);
    lines.write(INFO);
    lines.write(line);
    expect(written).toEqual([INFO + line]);
    await nextTurn();
    expect(written).toHaveLength(1);
  });

  it('writes the remaining lines when the process ends', () => {
    lines.write(INFO);
    lines.flush();
    lines.flush();
    expect(written).toEqual([INFO]);
  });
});
