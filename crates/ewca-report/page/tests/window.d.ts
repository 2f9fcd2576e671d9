// Browser tests speak of what the page offers: the declaration of `window.ewcaReport` is in the page's own code.
import '../src/page';
