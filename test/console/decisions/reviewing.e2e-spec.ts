import type { Route } from '../../../console/node_modules/playwright-core';
import { addClaim, createAgent, createEntity, createPolicy, issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { askToPay, companyStage, PAYMENT } from '../company';

describeInBrowser('What a reviewer sees in the console', () => {
  const stage = companyStage();

  async function openDecision(id: string, key: string, expected: readonly RegExp[] = []): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/decisions/${id}`, { expected });
    await signIn(page, key);
    return page;
  }

  it('is all there is before they can approve: with a key that may not see a part, they cannot', async () => {
    const { program, finn } = stage.company;
    const { secret } = await issueKey(program, { name: 'no read', scopes: ['review'], agentId: finn.id });
    const { decisionId } = await askToPay(stage.company);
    const page = await openDecision(decisionId, secret);
    const main = page.getByRole('main');
    await main.getByText('Seeing the policies needs read, which your key does not have.').waitFor();
    await main.getByText('Seeing entities and claims needs read, which your key does not have.').waitFor();
    await main.getByText(/once everything is on screen: the policies and the claims, which your key may not/).waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Reject' }).click({ trial: true });
  });

  it('is also on whose behalf, and in which run', async () => {
    const { program, finn } = stage.company;
    const forWhom = { onBehalfOf: { subject: 'user:4711', roles: ['premium'] }, run: 'chat 9' };
    const path = '/api/v1/agents/payment-bot/execute';
    const { body } = await send(program, 'POST', path, { key: program.key, body: { ...PAYMENT, ...forWhom } });
    const page = await openDecision(body.decisionId, finn.key);
    const request = page.getByRole('region', { name: 'The request' });
    await request.getByText('user:4711, with the role premium').waitFor();
    await request.getByText('chat 9').waitFor();
    await request.getByText('this resource, on behalf of nobody else, and these arguments').waitFor();
  });

  it('begins in the upper half of a telephone', async () => {
    const { decisionId } = await askToPay(stage.company, { invoice: 'on a telephone' });
    const { program, finn } = stage.company;
    const page = await stage.browser.open(`${program.url}/console/decisions/${decisionId}`, { width: 390 });
    await signIn(page, finn.key);
    const title = await page.getByRole('heading', { level: 1 }).boundingBox();
    expect(title?.y).toBeLessThan(430);
  });

  it('is nothing that is not so where the request itself may not be seen', async () => {
    const { program, bot } = stage.company;
    const { secret } = await issueKey(program, { name: 'proposer', scopes: ['propose'], agentId: bot.id });
    const { decisionId } = await askToPay(stage.company);
    const page = await openDecision(decisionId, secret);
    const main = page.getByRole('main');
    await main.getByText('Seeing the request and why it needs approval needs read').waitFor();
    await main.getByText('Seeing who can decide needs read').waitFor();
    await main.getByText('Deciding needs review').waitFor();
    expect(await main.innerText()).not.toMatch(/No policy required|[Ll]oading/);
  });

  it('can still be rejected where nobody can approve it, and says why', async () => {
    const { program, finn, bot } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'of a suspended bot' });
    await send(program, 'POST', `/api/v1/agents/${bot.id}/suspend`, { key: program.key, body: {} });
    const page = await openDecision(decisionId, finn.key);
    await page.getByText('The agent that requested it is suspended, so nobody can approve it now. It can').waitFor();
    await page.getByText(/finn \(you\) \(is suspended, or the agent that requested it is\)/).waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Reject' }).click();
    await page.getByText('It was rejected. Nothing was done.').waitFor();
    await send(program, 'POST', `/api/v1/agents/${bot.id}/resume`, { key: program.key, body: {} });
  });

  it('has everything that a claim says, and marks what the request means of it alone', async () => {
    const { program, finn } = stage.company;
    const { id } = await createEntity(program, { type: 'supplier', name: 'Contextual GmbH', properties: {} });
    await addClaim(program, id, {
      predicate: 'blocked',
      value: true,
      context: { note: 'until the 5th', confidence: 1 },
    });
    await addClaim(program, id, { predicate: 'blocked', value: false });
    const { decisionId } = await askToPay(stage.company, { supplier: id, express: true });
    const page = await openDecision(decisionId, finn.key);
    const target = page.getByRole('region', { name: 'What is known about the target' });
    await target.getByText('2 contradicting values').first().waitFor();
    await target.getByText('"note": "until the 5th"').waitFor();
    const blocked = target.getByRole('article').filter({ hasText: 'Contextual GmbH' });
    expect(await blocked.getByText('in this request').count()).toBe(0);
  });

  it('is looked up a few at a time, however much a request names', async () => {
    const { program, finn } = stage.company;
    const entities = await Promise.all(
      Array.from({ length: 14 }, (_, index) =>
        createEntity(program, { type: 'account', name: `of many ${index}`, properties: {} }),
      ),
    );
    const { decisionId } = await askToPay(stage.company, { all: entities.map(({ id }) => id) });
    const page = await openDecision(decisionId, finn.key, [/status of 401/]);
    // While parts of the page are still loading, the button moves, and a click could miss it.
    await page
      .getByText(/once everything is on screen: still hidden: 11 more entities named in the request\.?$/)
      .waitFor();
    const held: Route[] = [];
    let holds = true;
    const isLookUp = (url: URL): boolean => /\/entities\/ent_\w+$/.test(url.pathname);
    await page.route(isLookUp, async (route) => {
      if (holds) held.push(route);
      else await route.continue();
    });
    const requests = page.waitForRequest((request) => isLookUp(new URL(request.url())));
    await page.getByRole('button', { name: /^Look up/ }).click();
    await requests;
    while (held.length < 4) await page.waitForTimeout(20);
    // Whatever was asked for before this is held by now.
    await Promise.all([page.waitForResponse('**/me'), page.evaluate("fetch('/api/v1/me')")]);
    expect(held.length).toBe(4);
    holds = false;
    await Promise.all(held.map((route) => route.continue()));
    await page.getByRole('heading', { name: 'of many 13 account' }).waitFor();
    await page.locator('button:enabled', { hasText: 'Approve' }).waitFor();
  });

  it('includes what the agent has requested since the page was opened', async () => {
    const { finn } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'the one' });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    await approve.waitFor();
    await askToPay(stage.company, { invoice: 'the one once more' });
    await approve.click();
    await page.getByRole('alert').filter({ hasText: 'Nothing was approved' }).waitFor();
    const others = page.getByRole('region', { name: /^Other requests/ });
    await others.getByText('the one once more').waitFor();
    const link = others.getByRole('link', { name: 'pay-invoice' }).first();
    expect(await link.getAttribute('href')).toMatch(/\/console\/executions\/exe_\w+$/);
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('can be approved although the agent keeps making requests', async () => {
    const { finn } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'among many' });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    await approve.waitFor();
    for (const invoice of ['one more', 'and another']) {
      await approve.waitFor();
      await askToPay(stage.company, { invoice });
      await approve.click();
      await page.getByRole('alert').filter({ hasText: 'Nothing was approved' }).waitFor();
    }
    await askToPay(stage.company, { invoice: 'and a third' });
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('is in the words of what changed, which is marked, when they have to look again', async () => {
    const { program, finn } = stage.company;
    const { id } = await createEntity(program, { type: 'supplier', name: 'Changing GmbH', properties: {} });
    await addClaim(program, id, { predicate: 'blocked', value: false });
    const { decisionId } = await askToPay(stage.company, { supplier: id });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    await approve.waitFor();
    await addClaim(program, id, { predicate: 'blocked', value: true });
    await approve.click();
    const alert = page.getByRole('alert').filter({ hasText: 'Nothing was approved' });
    await alert.getByText('It is shown now: 1 new claim about Changing GmbH.').waitFor();
    const target = page.getByRole('region', { name: 'What is known about the target' });
    expect(await target.getByRole('listitem').filter({ hasText: 'new' }).innerText()).toMatch(/^true\s+new/);
    // What a person has not seen at all holds it up again.
    await addClaim(program, id, { predicate: 'sanctioned', value: true });
    await approve.click();
    await target.getByRole('heading', { name: 'sanctioned' }).waitFor();
    await alert.getByText('If this goes on').waitFor();
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('can be approved although somebody keeps making claims about the target', async () => {
    const { program, finn, supplier } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'among claims' });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    const alert = page.getByRole('alert').filter({ hasText: 'Nothing was approved' });
    const claim = (predicate: string, value: string): Promise<unknown> =>
      addClaim(program, supplier.id, { predicate, value });
    for (let press = 0; press < 2; press += 1) {
      await approve.waitFor();
      await claim(`seen ${press}`, 'today');
      await approve.click();
      await alert.waitFor();
    }
    await claim('seen 3', 'today');
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('holds an approval up for everything but additions, however often they looked', async () => {
    const { program, finn } = stage.company;
    const { id, revision } = await createEntity(program, { type: 'supplier', name: 'Losing GmbH', properties: {} });
    await addClaim(program, id, { predicate: 'sanctioned', value: false, context: { confidence: 0.9 } });
    const unsure = await addClaim(program, id, { predicate: 'sanctioned', value: 'unknown' });
    const { decisionId } = await askToPay(stage.company, { supplier: id });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    const alert = page.getByRole('alert').filter({ hasText: 'Nothing was approved' });
    const press = async (change: () => Promise<unknown>, words: string): Promise<void> => {
      await approve.waitFor();
      await change();
      await approve.click();
      await alert.getByText(words).waitFor();
    };
    await press(() => askToPay(stage.company, { invoice: 'to distract' }), 'the other requests of this agent');
    const sanctioned = { predicate: 'sanctioned', value: true, context: { confidence: 1 } };
    await press(() => addClaim(program, id, sanctioned), '1 new claim about Losing GmbH');
    const claim = `/api/v1/entities/${id}/claims/${unsure.id}`;
    await press(() => send(program, 'DELETE', claim, { key: program.key }), '1 withdrawn claim about Losing GmbH');
    for (const visit of [1, 2])
      await press(() => addClaim(program, id, { predicate: 'visit', value: visit }), '1 new claim about Losing GmbH');
    // A change of the entity itself, and in the same moment a claim.
    await addClaim(program, id, { predicate: 'blocked', value: true });
    const changed = { type: 'supplier', name: 'Losing GmbH', properties: { note: 'new' } };
    const put = { key: program.key, body: changed, headers: { 'If-Match': `"${revision}"` } };
    await press(() => send(program, 'PUT', `/api/v1/entities/${id}`, put), 'note of Losing GmbH');
    await alert.getByText('1 new claim about Losing GmbH').waitFor();
    const target = page.getByRole('region', { name: 'What is known about the target' });
    await target.getByRole('listitem').filter({ hasText: 'new' }).filter({ hasText: 'true' }).waitFor();
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('is checked again before an approval that the service was too busy to record', async () => {
    const { program, finn, supplier } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'of a busy hour' });
    const page = await openDecision(decisionId, finn.key, [/status of 429/]);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    await approve.waitFor();
    await page.route(
      '**/approve',
      async (route) => {
        await addClaim(program, supplier.id, { predicate: 'blocked', value: true });
        const error = { code: 'RATE_LIMITED', message: 'Too many requests.' };
        await route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, json: { error } });
      },
      { times: 1 },
    );
    await approve.click();
    const alert = page.getByRole('alert').filter({ hasText: 'Nothing was approved' });
    await alert.getByText('1 new claim about').waitFor();
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('holds an approval up for what is claimed about the values in the request, however often they looked', async () => {
    const { program, finn } = stage.company;
    const { id } = await createEntity(program, { type: 'supplier', name: 'Turning GmbH', properties: {} });
    const iban = (value: string, confidence: number): Promise<unknown> =>
      addClaim(program, id, { predicate: 'iban', value, context: { confidence } });
    await iban('DE02', 0.5);
    const { decisionId } = await askToPay(stage.company, { supplier: id, iban: 'DE02' });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    const alert = page.getByRole('alert').filter({ hasText: 'Nothing was approved' });
    for (const [value, confidence] of [
      ['DE03', 0.4],
      ['DE02', 0.6],
      ['DE04', 0.9],
    ] as const) {
      await approve.waitFor();
      await iban(value, confidence);
      await approve.click();
      await alert.getByText('1 new claim about Turning GmbH').waitFor();
    }
    await page.getByText('The request uses a value that is less certain than another one.').waitFor();
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('does not change with a policy that says nothing about the request', async () => {
    const { program, finn } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'beside other policies' });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    await approve.waitFor();
    await createPolicy(program, { name: 'of-something-else', actions: ['water-plants'], subjects: ['role:gardener'] });
    await approve.click();
    await page.getByText('Your review is recorded.').waitFor();
  });

  it('has every path next to the name of the entity that it leads to', async () => {
    const { program, bot, sara, supplier } = stage.company;
    const ask = async (folder: string): Promise<string> => {
      const body = { action: 'pay-invoice', resourceType: 'supplier', resourceId: `${folder}/${supplier.id}` };
      const request = { key: bot.key, body: { ...body, parameters: { amount: 20_000 } } };
      return (await send(program, 'POST', '/api/v1/agents/payment-bot/execute', request)).body.decisionId;
    };
    const decisions = [await ask('prod'), await ask('test')];
    const page = await stage.browser.open(`${program.url}/console/inbox`);
    await signIn(page, sara.key);
    for (const folder of ['prod', 'test'])
      await page.getByRole('link', { name: `pay-invoice on supplier/${folder}/Nordwind GmbH` }).waitFor();
    await page.locator(`a[href$="${String(decisions[0])}"]`).click();
    await page.getByRole('heading', { name: 'wants to pay-invoice on supplier prod/Nordwind GmbH' }).waitFor();
  });

  it('names all who may decide to whoever decides for them', async () => {
    const { program } = stage.company;
    const people = Array.from({ length: 102 }, (_, index) => `person ${index}`);
    for (const name of people) await createAgent(program, { name, kind: 'human', roles: ['finance'] });
    const { decisionId } = await askToPay(stage.company, { invoice: 'for many' });
    const page = await openDecision(decisionId, program.key);
    const choice = page.getByLabel('Decide on behalf of');
    await choice.waitFor();
    await page.getByText('(of 104 reviewers, those that are listed above)').waitFor();
    await page.getByRole('button', { name: 'List more reviewers: 4 left' }).click();
    await choice.selectOption('person 101');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Your review is recorded. The decision still needs 1 of the role security.').waitFor();
    expect(await choice.inputValue()).toBe('');
  });

  it('changes with a policy that would now deny the request', async () => {
    const { program, finn } = stage.company;
    const { decisionId } = await askToPay(stage.company, { invoice: 'of a blocked number' });
    const page = await openDecision(decisionId, finn.key);
    const approve = page.locator('button:enabled', { hasText: 'Approve' });
    await approve.waitFor();
    await createPolicy(program, {
      name: 'no-blocked-numbers',
      effect: 'deny',
      actions: ['pay-invoice'],
      conditions: [{ parameter: '/invoice', op: 'eq', value: 'of a blocked number' }],
    });
    await approve.click();
    await page.getByText('It is shown now: what the policies say about it.').waitFor();
    await page.getByText('Asked now, the answer would be deny').waitFor();
  });
});
