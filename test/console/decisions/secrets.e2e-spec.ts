import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { companyStage } from '../company';

describeInBrowser('A request with secrets in the console', () => {
  const stage = companyStage();

  it('says what is not kept, and what was too large to be shown', async () => {
    const { program, bot, sara } = stage.company;
    const note = { $sha256: 'c0ffee', bytes: 70_000 };
    const { body } = await send(program, 'POST', '/api/v1/agents/payment-bot/execute', {
      key: bot.key,
      body: {
        action: 'pay-invoice',
        resourceType: 'supplier',
        resourceId: 'acme',
        parameters: { amount: 20_000, card: { token: 'tok-4711' }, note },
      },
    });
    for (const path of [`decisions/${body.decisionId}`, `executions/${body.id}`]) {
      const page = await stage.browser.open(`${program.url}/console/${path}`);
      await signIn(page, sara.key);
      await page.getByText('Secret, and not kept: /card/token.').first().waitFor();
      await page.getByText('Not shown, as it is large: /note (70,000 bytes).').first().waitFor();
      expect(await page.getByRole('region', { name: 'Arguments' }).innerText()).not.toContain('tok-4711');
    }
  });
});
