import { AIMessage, fakeModel } from 'langchain';

/** LangChain's own fake model: it calls a tool once, and says that it is done from then on. */
export function callOnce(name, args) {
  const model = fakeModel().respondWithTools([{ name, args, id: `call-${name}` }]);
  for (let answers = 0; answers < 9; answers += 1) model.respond(new AIMessage('done'));
  return model;
}
