import { expectRecomputed, expectSameAnswers, expectSameHistories, SEED } from './random-runs';

/**
 * `EVALUATOR_CASES=100000 npx jest test/evidence/random-answers` asks as many; `npm run test:all` asks more than this.
 */
const QUESTIONS = Number(process.env['EVALUATOR_CASES'] ?? 1_000);
const ROUNDS = Number(process.env['EVIDENCE_ROUNDS'] ?? 30);
const HISTORIES = Number(process.env['RANDOM_HISTORIES'] ?? 30);
/** Milliseconds: 10,000 histories take more than an hour. */
const TIMEOUT = 4 * 3_600_000;

describe(`The evaluator of the offline verifier (seed ${SEED})`, () => {
  it('answers random questions as the service does', () => expectSameAnswers(QUESTIONS, 'deny'), TIMEOUT);

  it('answers them alike by another default', () => expectSameAnswers(QUESTIONS / 10, 'allow'), TIMEOUT);

  it('answers random histories as the service did', () => expectSameHistories(HISTORIES), TIMEOUT);

  it('decides again what random agents asked and random people approved', () => expectRecomputed(ROUNDS), TIMEOUT);
});
