/**
 * The beginning: who is signed in, and the page of the address.
 */

// First: it takes the token out of the address.
import { person, token } from "./session.js";

import { letterPage } from "./letter.js";
import { lettersPage } from "./letters.js";
import { offsetsPage } from "./offsets.js";
import { overviewPage } from "./overview.js";
import { startRouter } from "./router.js";
import { nothing, showPage, showSignIn, startShell } from "./shell.js";
import { verifyPage } from "./verify.js";

const pages = [
  ["/", overviewPage],
  ["/dead-letters", lettersPage],
  ["/dead-letters/:id", letterPage],
  ["/offsets", offsetsPage],
  ["/verify", verifyPage],
];

if (!token() || !person()) {
  showSignIn();
} else {
  startShell();
  startRouter(pages, (page, parameters, signal) => {
    showPage(page ? page(parameters, signal) : nothing());
  });
}
