import { QueryFailedError } from 'typeorm';
import { serializeError } from './log';

describe('serializeError', () => {
  it('keeps the statement and its parameters out', () => {
    const driverError = Object.assign(new Error('SQLITE_CONSTRAINT: UNIQUE constraint failed: agents.name'), {
      code: 'SQLITE_CONSTRAINT',
    });
    const failed = new QueryFailedError('INSERT INTO agents VALUES (?)', ['private content'], driverError);
    expect(serializeError(failed)).toEqual({
      type: 'QueryFailedError',
      message: driverError.message,
      stack: expect.stringContaining('log.spec'),
      code: 'SQLITE_CONSTRAINT',
    });
  });

  it('describes a plain error', () => {
    expect(serializeError(new TypeError('not a function'))).toMatchObject({
      type: 'TypeError',
      message: 'not a function',
    });
  });

  it('leaves other values unchanged', () => {
    expect(serializeError('text')).toBe('text');
  });
});
