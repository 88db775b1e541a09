/**
 * Counts what the verifier works on, where a file or a log could make it work for hours. Prints JSON.
 *
 *     node counted-work.mjs
 */
import { evaluate } from '../../verifier/evaluation/evaluate.mjs';
import { isAmount, textOf, unitsOf } from '../../verifier/evaluation/limits.mjs';
import { areFilled } from '../../verifier/evaluation/matching.mjs';
import { isUnmistakable, plainForm } from '../../verifier/evaluation/spelling.mjs';
import { BindingRejections } from '../../verifier/decision/binding-rejections.mjs';
import { LogFacts } from '../../verifier/decision/log-facts.mjs';
import { LogRules } from '../../verifier/decision/log-rules.mjs';
import { bodyOfHash } from '../../verifier/decision/made-requests.mjs';
import { UnknownOutcomes } from '../../verifier/decision/unknown-outcomes.mjs';
import { TakenUses } from '../../verifier/limit-uses.mjs';

/** Counts the bodies of a MiB each that are hashed before the verifier gives up. */
function bodiesTried() {
  let count = 0;
  bodyOfHash(endlessBodies(), 'none');
  return count;

  function* endlessBodies() {
    for (;;) {
      count += 1;
      yield { count, text: 'a'.repeat(2 ** 20) };
    }
  }
}

/** Counts how often the actions of a policy are searched when a request is evaluated several times. */
function timesMatched() {
  let count = 0;
  const actions = new Proxy(['look'], {
    get: (list, name) => {
      if (name === 'some') count += 1;
      return Reflect.get(list, name);
    },
  });
  const rules = { subjects: ['*'], actions, resources: ['*'], resourceTypes: [], priority: 0, effect: 'allow' };
  const policy = { id: 'p', name: 'p', version: '1', ...rules };
  const agent = { id: 'agt_1', name: 'bot', roles: [], kind: 'machine', capabilities: ['*'] };
  const resource = { resourceType: 'o', resourceId: 'r', parameters: {} };
  const request = { action: 'look', ...resource, time: new Date(0), matches: new Map() };
  for (let time = 0; time < 5; time += 1) evaluate(agent, request, [policy], 'deny');
  return count;
}

/** Counts how often a long nested text is searched when so many conditions read it. @param {number} conditions */
function timesSearched(conditions) {
  const rules = { subjects: ['*'], actions: ['*'], resources: ['*'], resourceTypes: [], priority: 0, effect: 'allow' };
  const within = Array.from({ length: conditions }, (_, index) => ({
    parameter: '/a/*',
    op: 'within',
    value: `/x${index}`,
  }));
  const policy = { id: 'p', name: 'p', version: '1', ...rules, conditions: within };
  const agent = { id: 'agt_1', name: 'bot', roles: [], kind: 'machine', capabilities: ['*'] };
  const parameters = { a: [`p/%${'25'.repeat(2_000)}20b`] };
  const request = { action: 'look', resourceType: 'o', resourceId: 'r', parameters, time: new Date(0), evaluation: 4 };
  const ordinary = Reflect.get(String.prototype, 'matchAll');
  let count = 0;
  String.prototype.matchAll = function counted(pattern) {
    if (this.length > 1_000) count += 1;
    return ordinary.call(this, pattern);
  };
  try {
    evaluate(agent, request, [policy], 'deny');
  } finally {
    String.prototype.matchAll = ordinary;
  }
  return count;
}

/** Counts how often the patterns of a policy are read when it is compared with many requests. */
function timesRead() {
  let count = 0;
  const resources = new Proxy(['r/*', 'a'], {
    get: (list, name) => {
      if (['filter', 'map', 'some'].includes(String(name))) count += 1;
      return Reflect.get(list, name);
    },
  });
  const rules = { subjects: ['*'], actions: ['*'], resources, resourceTypes: [], priority: 0, effect: 'allow' };
  const policy = { id: 'p', name: 'p', version: '1', ...rules };
  const agent = { id: 'agt_1', name: 'bot', roles: [], kind: 'machine', capabilities: ['*'] };
  for (let number = 0; number < 100; number += 1) {
    const resource = { resourceType: 'o', resourceId: `r/${number}`, parameters: {} };
    const request = { action: 'look', ...resource, time: new Date(0) };
    if (evaluate(agent, request, [policy], 'deny').effect !== 'allow') throw new Error('It does not match.');
  }
  return count;
}

/**
 * Counts the items of lists that are copied when so many erased executions have used one limit. @param {number}
 * executions
 */
function itemsCopied(executions) {
  const uses = new TakenUses();
  const limits = [{ max: 1e9, per: 'month', by: 'policy' }];
  const policy = { id: 'pol_1', name: 'p', limits };
  const audit = { details: {} };
  uses.add({ sequence: 1, subjectType: 'policy', subjectId: 'pol_1', action: 'policy.created', audit, state: policy });
  return (
    itemsRead(() => {
      for (let number = 0; number < executions; number += 1) {
        const use = { policyId: 'pol_1', limit: 0, window: '2026-01-01T00:00:00.000Z', key: null };
        const used = [{ ...use, before: `${number}`, amount: '1' }];
        const subject = { subjectType: 'execution', subjectId: `exe_${number}` };
        uses.add({
          sequence: number + 2,
          ...subject,
          action: 'execution.erased',
          audit: { details: { used } },
          state: {},
        });
      }
      uses.end();
    }) / executions
  );
}

/** Counts the items of lists that are read one by one meanwhile. @param {() => void} work */
function itemsRead(work) {
  const iterate = Array.prototype[Symbol.iterator];
  let count = 0;
  Array.prototype[Symbol.iterator] = function* items() {
    for (let index = 0; index < this.length; index += 1) {
      count += 1;
      yield this[index];
    }
  };
  try {
    work();
  } finally {
    Array.prototype[Symbol.iterator] = iterate;
  }
  return count;
}

/** Counts the items that are read for each of so many rejections of one agent. @param {number} rejections */
function rejectionsRead(rejections) {
  const all = new BindingRejections({ has: () => true });
  const timestamp = '2026-01-01T00:00:00.000Z';
  const work = () => {
    for (let number = 0; number < rejections; number += 1) {
      const [decisionId, executionId, agentId] = [`dec_${number}`, `exe_${number}`, 'agt_1'];
      const request = {
        agentId,
        action: 'pay',
        resourceType: 'o',
        resourceId: `r${number}`,
        parameters: {},
        decisionId,
      };
      const entry = { timestamp, audit: { agentId } };
      const proposed = { executionId, expiresAt: '2026-01-02T00:00:00.000Z' };
      all.add({ ...entry, action: 'decision.proposed', subjectId: decisionId }, proposed);
      all.add({ ...entry, action: 'execution.approval_requested', subjectId: executionId }, request);
      all.add({ ...entry, action: 'decision.rejected', subjectId: decisionId }, proposed);
      all.add({ ...entry, action: 'execution.rejected', subjectId: executionId }, request);
    }
  };
  return itemsRead(work) / rejections;
}

/**
 * Counts the items that are read for each request of a gateway after so many unknown outcomes. @param {number}
 * requests
 */
function outcomesRead(requests) {
  const all = new UnknownOutcomes({ has: () => true });
  const [subjectType, timestamp] = ['execution', '2026-01-01T00:00:00.000Z'];
  const request = {
    agentId: 'agt_1',
    action: 'pay',
    resourceType: 'o',
    resourceId: 'r',
    parameters: {},
    via: 'gateway',
  };
  const unknown = { ...request, outcome: 'failed', reason: 'outcome_unknown' };
  const work = () => {
    for (let number = 0; number < requests; number += 1) {
      const [audit, subjectId] = [{ agentId: 'agt_1' }, `exe_${number}`];
      all.add({ subjectType, subjectId, action: 'execution.completed', audit, timestamp }, unknown);
      const agreement = { action: 'execution.authorized', details: { repeats: subjectId } };
      all.faultsBefore({ subjectType, timestamp, audit: agreement, state: request });
    }
  };
  return itemsRead(work) / requests;
}

/**
 * Counts the earlier executions that are read for a request after so many on different resources. @param {number}
 * executions
 */
function earlierRead(executions) {
  const facts = new LogFacts();
  const [action, subjectType, audit] = ['execution.authorized', 'execution', {}];
  for (let number = 0; number < executions; number += 1) {
    const state = { agentId: 'agt_1', action: 'look', resourceType: 'o', resourceId: `r${number}` };
    const entry = { action, subjectType, subjectId: `exe_${number}`, timestamp: '2026-01-01T00:00:00.000Z' };
    facts.note({ ...entry, audit, state }, undefined);
  }
  const policies = [{ id: 'p', conditions: [{ earlier: 'look', within: 'PT1H', op: 'exists', value: true }] }];
  const earlier = [{ policyId: 'p', condition: 0, executionId: null }];
  const state = { agentId: 'agt_1', action: 'pay' };
  const ordinary = Reflect.get(Map.prototype, 'values');
  let count = 0;
  Map.prototype.values = function* counted() {
    for (const [, value] of this) {
      count += 1;
      yield value;
    }
  };
  try {
    facts.faults({ timestamp: '2026-01-02T00:00:00.000Z', audit: { details: { earlier } }, state }, policies);
  } finally {
    Map.prototype.values = ordinary;
  }
  return count;
}

/** A text in which each space is encoded once more than the one before. @param {number} steps */
function stairs(steps) {
  return Array.from({ length: steps }, (_, step) => `a%${'25'.repeat(step)}20b`).join('');
}

/** Counts the values that are written to find rules that are not in force, asked for so often. @param {number} times */
function rulesWritten(times) {
  const rules = new LogRules();
  rules.note('pol_1', { id: 'pol_1', status: 'active' });
  const ordinary = JSON.stringify;
  let count = 0;
  JSON.stringify = (/** @type {unknown} */ value) => {
    count += 1;
    return ordinary(value);
  };
  try {
    for (let time = 0; time < times; time += 1) rules.get(`none ${time}`);
  } finally {
    JSON.stringify = ordinary;
  }
  return count;
}

const zeros = '0'.repeat(1_000_000);
process.stdout.write(
  JSON.stringify({
    bodies: bodiesTried(),
    matched: timesMatched(),
    read: timesRead(),
    searched: [timesSearched(1) < 20, timesSearched(20) === timesSearched(1)],
    copies: [itemsCopied(100), itemsCopied(1_000)].map((count) => count < 50),
    rejections: [rejectionsRead(100), rejectionsRead(1_000)].map((count) => count < 300),
    outcomes: outcomesRead(1_000) < 2 * outcomesRead(100),
    earlier: earlierRead(1_000) < 50,
    rules: rulesWritten(100) === rulesWritten(1),
    filled: areFilled([{ approvals: 3e12 }], [[0], [0]]),
    amounts: [`1${zeros}1`, `1.${zeros}1`, '1e3', '12.5', '100'].map(isAmount),
    amount: textOf(unitsOf('120.5')),
    deep: [4_094, 1_000_000].map((length) => isUnmistakable(`a%${'25'.repeat(length / 2 - 2)}20b`)),
    stairs: [60, 1_000].map((steps) => isUnmistakable(stairs(steps))),
    marks: plainForm(`a${'\u0345'.repeat(100_000)}${'\u0334'.repeat(100_000)}`).length,
  }),
);
