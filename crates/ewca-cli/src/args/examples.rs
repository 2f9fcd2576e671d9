//! What stands below the options in `--help`.

pub const PROGRAM: &str = "\
Start here:
  ewca demo              try it on data that come with the program
  ewca inspect data.csv  see what is in a file, and how to fit it
  ewca fit data.csv      fit a table: samples in rows, features in columns
  ewca fit --help        see all options, with examples

Besides the number of components (-k), a fit has one setting. Perplexity is how
many neighbours each sample is matched with on average (5 by default). Epsilon
sets the same thing in squared units of the data: towards 0 the result is PCA.";

pub const FIT: &str = "\
Examples:
  ewca fit data.csv
          two components, everything else by default; results in ewca-out/
  ewca fit data.csv -k 5 --label class --id sample -o results
          five components; 'class' and 'sample' are not used as features
  ewca fit data.csv -k auto
          as many components as explain more variance than chance
  ewca fit data.tsv.gz -k 3 --perplexity 20 -v
          about 20 neighbours per sample; also print times and memory
  ewca fit data.csv -k 5 --label class --report report.html
          also write an interactive report
  ewca fit pbmc/ --normalize-total 1e4 --log1p --top-variable 2000 -k 10
          counts in a 10x folder (kept sparse)
  ewca fit cells.h5ad --layer counts --write-anndata cells-ewca.h5ad
          results in the places where scanpy expects them
  ewca fit big.npy --checkpoint big.state
          save the state; if interrupted, add --resume big.state to continue
  zcat data.csv.gz | ewca fit - --epsilon 15 --restarts 10 --seed 1
          from a pipe; the best of eleven starts

Files written to the output folder:
  scores.csv         one row per sample: id, label (if given), ewca1 to ewcaK
  loadings.csv       one row per feature: feature, ewca1 to ewcaK
  model.safetensors  the model, for ewca transform, neighbours, report ...
  summary.json       parameters, explained variance, accuracy, times, and the
                     SHA-256 of the other files (written last)

Files that this program did not write are replaced only with --overwrite.
Inputs are never replaced. Only one run at a time can write to a folder.

Exit codes:
  0    converged
  1    bad input, or the run failed
  2    wrong options
  3    results written, but not converged, or collapsed (smoothing too strong);
       0 instead with --allow-unconverged
  130  interrupted, best result written (Ctrl-C once; twice quits at once)
  141  results written, but the program reading the output closed its pipe";

pub const TRANSFORM: &str = "\
Examples:
  ewca transform ewca-out/model.safetensors new.csv
          scores of new samples as CSV on standard output
  ewca transform ewca-out new.csv --id sample --label class -o new-scores.parquet
          the model in a folder; scores to a file";

pub const RECONSTRUCT: &str = "\
Examples:
  ewca reconstruct ewca-out ewca-out/scores.csv -o smooth.csv
          the training samples, rebuilt from their components
  ewca transform ewca-out new.csv | ewca reconstruct ewca-out -
          new samples: to scores, and back";

pub const NEIGHBOURS: &str = "\
Examples:
  ewca neighbours ewca-out
          the 5 strongest partners of each training sample, as CSV
  ewca neighbours ewca-out -m 20 -o partners.parquet
          20 of them, to a file
  ewca neighbours ewca-out new.csv --id sample
          which training samples new samples are matched with";

pub const REPORT: &str = "\
Examples:
  ewca report ewca-out data.csv --label class --id sample -o report.html
          a report of the model in ewca-out/
  ewca report ewca-out data.csv --path --tsne -o report.html
          with a slider for epsilon, and t-SNE
  ewca report ewca-out data.csv --multiqc ewca_mqc.json
          also write the embedding for MultiQC";

pub const PATH: &str = "\
Examples:
  ewca path data.csv -k 5
          20 epsilons, from PCA to just beyond the collapse
  ewca path data.csv -k 5 --label class --report path.html
          the same, and a report with a slider
  ewca path data.csv -k 5 --label class --epsilons 5:200:20 -o path.csv
          20 epsilons from 5 to 200, evenly spaced on a log scale
  ewca path data.csv -k 5 --perplexities 2,5,10,20,50
          by numbers of neighbours instead";

pub const SELECT: &str = "\
Examples:
  ewca select data.csv --label class -k 4..12
          compare 4 to 12 components, with 20 epsilons each
  ewca select data.csv --label class -k 5,8 --epsilons 5:200:20 --seed 1
          the paper's grid
  ewca select data.csv --label class -k auto
          from 1 to as many components as explain more variance than chance
  ewca select data.csv
          without labels: a rule of thumb";

pub const REPRODUCE: &str = "\
Examples:
  ewca reproduce all -o paper
          all figures on khan2001, and a page: paper/index.html
  ewca reproduce accuracy --splits 400 --seed 1
          one experiment, with more splits
  ewca reproduce all --data Breast_GSE45827.csv -o breast
          the paper's other data set, after you have downloaded it
  ewca reproduce accuracy --data cells.csv --label kind --id name -k 2..6
          another table: without --epsilons the grid is 50:5000:20
  ewca reproduce when -o when
          where EWCA finds clusters that PCA does not: a map, in a minute
  ewca reproduce evidence --data target/evidence
          37 more data sets; first run crates/ewca-paper/evidence/fetch.py";

pub const INSPECT: &str = "\
Examples:
  ewca inspect data.csv
  ewca inspect results.mat --variable X
  ewca inspect ewca-out/model.safetensors";

pub const DEMO: &str = "\
Examples:
  ewca demo                results in ewca-out/demo/
  ewca demo -o first       results in first/";

pub const COMPLETIONS: &str = "\
Examples:
  ewca completions bash > ~/.local/share/bash-completion/completions/ewca
  ewca completions zsh > ~/.zfunc/_ewca
  ewca completions fish > ~/.config/fish/completions/ewca.fish";

pub const MAN: &str = "\
Examples:
  ewca man | man -l -
          the page of the program
  ewca man -o ~/.local/share/man/man1
          this page and one for each command, as files";
