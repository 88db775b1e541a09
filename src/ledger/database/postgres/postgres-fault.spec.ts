import { DatabaseError } from 'pg';
import { DatabaseFault } from '../database-fault';
import { connectionFault, endsSession, postgresFault } from './postgres-fault';

function serverError(code: string): DatabaseError {
  const error = new DatabaseError('The server says so.', 0, 'error');
  error.code = code;
  error.detail = 'Key (name)=(secret) already exists.';
  return error;
}

describe('A fault', () => {
  it.each([
    ['23505', 'constraint', 'a value is taken'],
    ['23503', 'constraint', 'a reference dangles'],
    ['22P05', 'programming', 'a text cannot be kept'],
    ['42601', 'programming', 'a statement is wrong'],
    ['25P02', 'programming', 'a statement failed before'],
    ['25006', 'unavailable', 'the server is read-only'],
    ['40P01', 'unavailable', 'a deadlock'],
    ['53100', 'unavailable', 'the disk is full'],
    ['55P03', 'busy', 'a lock is held'],
    ['55000', 'unavailable', 'an object is not ready'],
    ['57014', 'unavailable', 'a statement takes too long'],
    ['57P01', 'unavailable', 'the server stops'],
    ['58030', 'unavailable', 'the disk fails'],
    ['XX000', 'unavailable', 'the server fails'],
  ])('with %s is %s: %s', (code, kind) => {
    expect(postgresFault(serverError(code))).toMatchObject({ kind, driverCode: code });
  });

  it.each(['EPIPE', 'ECONNRESET', 'ETIMEDOUT'])(
    'of the network, such as %s, means that the server is unreachable',
    (code) => {
      const error = Object.assign(new Error('broken'), { code });
      expect(postgresFault(error)).toMatchObject({ kind: 'unavailable', driverCode: code });
      expect(postgresFault(new Error('Query read timeout'))).toMatchObject({ kind: 'unavailable' });
    },
  );

  it('contains no values', () => {
    expect(JSON.stringify(postgresFault(serverError('23505')))).not.toContain('secret');
    expect(postgresFault(serverError('23505')).message).toBe('The server says so.');
  });

  it('ends the session if it is the last message of the server', () => {
    expect(endsSession(serverError('57P01'))).toBe(true);
    expect(endsSession(serverError('57014'))).toBe(false);
  });

  it('ends the session if it comes from the network or the driver, not from our code', () => {
    expect(endsSession(new Error('Query read timeout'))).toBe(true);
    expect(endsSession(new DatabaseFault('unavailable', 'UNCONFIRMED', 'A standby may not have it.'))).toBe(false);
  });

  it('of a host with several addresses names them all, but never a password', () => {
    const error = new AggregateError([
      new Error('connect ECONNREFUSED ::1:5432'),
      new Error('connect ECONNREFUSED 127.0.0.1:5432'),
    ]);
    const fault = connectionFault(error, { host: 'localhost', port: 5432, database: 'records', password: 'hunter2' });
    expect(fault.message).toBe(
      'No connection to the PostgreSQL database localhost:5432/records: ' +
        'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
    );
    expect(fault.kind).toBe('unavailable');
  });
});
