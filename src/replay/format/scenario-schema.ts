import { encodeJson } from '../../wire/json/encode.js';
import { prettyJson } from '../../wire/json/json.js';
import { jsonSchema } from '../../wire/openapi/json-schema.js';
import { scenarioSchema } from './scenario.js';

/** The text of `fixtures/scenario.schema.json`, made from what reads scenarios: JSON Schema, draft 2020-12. */
export function scenarioSchemaFile(): string {
  const head = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'A scenario of keyway replay' };
  const schema = jsonSchema(scenarioSchema());
  const whole = encodeJson({ ...head, ...Object(schema) });
  return `${prettyJson(Buffer.from(whole)).toString('utf8')}\n`;
}
